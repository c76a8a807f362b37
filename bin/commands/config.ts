import type { Command } from "commander";
import { type ConfigValues, loadConfig, settings as settingRows } from "../../daemon/config/config.ts";
import { settingsInForce, waitingText } from "../config/in-force.ts";
import { setSetting, unsetSetting } from "../config/set.ts";
import { leadSettings } from "../leading.ts";
import { sawFile } from "../off/changed-files.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../process-context.ts";
import { type FindRepository, findRepository } from "../project.ts";
import { tilde } from "../view/places.ts";
import { table } from "../view/table.ts";
import { clean, wrap } from "../view/text.ts";

const help = `
Each value comes from the first of these that has it: a KITE_* variable, config.json in Kite's directory, the default. A
running daemon reads that file again when it changes; if it holds no JSON object any more, the daemon keeps the settings of
before and says so. A setting that counts only from the daemon's next start says so. The .kite/config.json of the project
around the working directory may add to ignore, set keepLockUntil, lower lockWaitMs, make gates and teams stricter and name checks (kite check --list
shows them). The daemon reads that file again when it changes. Gates that you trusted (kite check --trust) stay in force if it
changes or vanishes. An unset yieldMs is 0.3 of lockWaitMs.

--json: {"settings":{NAME:{"value", "source"}}, "problems":[...]}

Exit codes: 0 done, 1 Kite ignored an invalid value.

Examples:
  $ kite config
  $ kite config set lockWaitMs 20000`;

export function add(command: Command, run: Run): void {
  command
    .enablePositionalOptions()
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(({ json }: { readonly json?: boolean }) => run(world => config(world, json === true)));
  command
    .command("set <key> <value>")
    .description("write a setting into your own config.json")
    .option("--json", "print one JSON object")
    .addHelpText("after", setHelp)
    .action((key: string, value: string, { json }: { readonly json?: boolean }) =>
      run(world => setSetting(world, key, value, json === true)),
    );
  command
    .command("unset <key>")
    .description("take a setting out of your own config.json")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite config unset yieldMs")
    .action((key: string, { json }: { readonly json?: boolean }) =>
      run(world => unsetSetting(world, key, json === true)),
    );
}

const setHelp = `
The value is checked as the daemon checks it. A text needs no quotes; an object or a list is JSON; the globs of ignore may
have colons between them. A lockWaitMs that is not more than a yieldMs in the file takes yieldMs out.

Exit codes: 0 done, 1 refused.

Examples:
  $ kite config set lockWaitMs 20000
  $ kite config set treeGuard warn
  $ kite config set ignore '*.lock:dist/**'`;

/** The names of an object's values, and those that are numbers: `copilot 5000, codex 20000`. */
function namedValues(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => (typeof value === "number" ? `${name} ${value}` : name))
    .join(", ");
}

/** Returns the exit code. `find` looks up the repository. */
export async function config(world: ProcessContext, json: boolean, find?: FindRepository): Promise<number> {
  const { settingTexts, trusted } = await leadSettings();
  const { env, paths } = world;
  const look = find ?? findRepository;
  const first = await look(world.cwd);
  // On a busy machine a second look often gets the answer that the first one waited for.
  const repository = "unreachable" in first ? await look(world.cwd) : first;
  const isUnknown = "unreachable" in repository;
  const project = isUnknown ? {} : { projectDir: repository.project };
  const { values: own, sources, problems: wrong } = await loadConfig({ env, paths, ...project });
  const more = await trusted(world, isUnknown ? null : repository.project, own);
  const values = { ...own, ...more.values };
  const left = "the project's .kite/config.json, if there is one, is left out here";
  const unknown = isUnknown ? [`${left}: ${repository.unreachable}`] : [];
  const inForce = await settingsInForce(world);
  const kept =
    (inForce?.problem ?? null) === null ? [] : ["the running daemon keeps the settings that it read before"];
  const problems = [...unknown, ...wrong, ...more.problems, ...kept];
  const texts = settingTexts(values);
  const textOf = (name: string, value: ConfigValues[keyof ConfigValues]): string => {
    if (typeof value !== "object") return String(value) || "-";
    if (Array.isArray(value)) return value.join(":") || "-";
    return texts[name] ?? (namedValues(value) || "-");
  };
  const saysOf = new Map(
    Object.entries(settingRows).map(([name, row]) => [
      name,
      "fixed" in row ? `${row.says} (counts from the daemon's next start)` : row.says,
    ]),
  );
  const sourceOf = new Map(Object.entries({ ...sources, ...more.sources }));
  const settings = Object.entries(values).map(([name, value]) => ({
    name,
    value,
    source: sourceOf.get(name) ?? "default",
  }));
  if (json) {
    const byName = Object.fromEntries(settings.map(({ name, ...rest }) => [name, rest]));
    printJson(world, { settings: byName, problems });
  } else {
    const screen = screenOf(world);
    const rows = settings.map(({ name, value, source }) => [
      name,
      clean(textOf(name, value)),
      { text: clean(source === "default" ? source : tilde(source, screen.home)), style: "dim" as const },
    ]);
    const values = table(rows, [{}, { min: 8 }, { min: 8, cut: "start" as const }], screen);
    const words = settings.map(({ name }) =>
      wrap(saysOf.get(name) ?? "", screen.width - 4).map(line => `    ${line}`),
    );
    print(
      world,
      values.flatMap((line, i) => [line, ...(words[i] ?? [])]),
    );
    for (const key of inForce?.waiting ?? []) print(world, wrap(`! ${waitingText(key)}`, screen.width, 2));
    for (const problem of problems) print(world, wrap(`! ${clean(problem)}`, screen.width, 2));
    await sawFile(world, "config");
  }
  return problems.length === 0 ? 0 : 1;
}
