import type { Command } from "commander";
import type { Gates } from "../../protocol/gates.ts";
import type { ProcessContext } from "../process-context.ts";
import type { FindRepository } from "../project.ts";

const help = `
Each value comes from the first of these that has it: a KITE_* variable, config.json in Kite's directory, the default. A
running daemon keeps the values it started with. The .kite/config.json of the project around the working directory may
add to ignore, set keepLockUntil, lower lockWaitMs, make gates stricter and name checks (kite check --list shows them).
The daemon reads that file again when it changes. An unset yieldMs is 0.3 of lockWaitMs.

--json: {"settings":{NAME:{"value", "source"}}, "problems":[...]}

Exit codes: 0 done, 1 Kite ignored an invalid value.

Example:
  $ kite config`;

export function add(program: Command): void {
  program
    .command("config")
    .description("show each setting and its source")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await config(processWorld(), json === true);
    });
}

/** Returns the exit code. `find` looks up the repository. */
export async function config(world: ProcessContext, json: boolean, find?: FindRepository): Promise<number> {
  const { print, printJson, screenOf } = await import("../process-context.ts");
  const { table } = await import("../view/table.ts");
  const { clean, wrap } = await import("../view/text.ts");
  const { tilde } = await import("../view/places.ts");
  const { loadConfig } = await import("../../daemon/config/config.ts");
  const { gatesText } = await import("../../protocol/gates.ts");
  const { env, paths } = world;
  const { findRepository } = await import("../project.ts");
  const repository = await (find ?? findRepository)(world.cwd);
  const isUnknown = "unreachable" in repository;
  const project = isUnknown ? {} : { projectDir: repository.project };
  const { values, sources, problems: wrong } = await loadConfig({ env, paths, ...project });
  const left = "the project's .kite/config.json, if there is one, is left out here";
  const problems = isUnknown ? [`${left}: ${repository.unreachable}`, ...wrong] : wrong;
  const textOf = (value: string | number | readonly string[] | Gates): string => {
    if (typeof value !== "object") return String(value);
    return "identity" in value ? gatesText(value) : value.join(":") || "-";
  };
  const sourceOf = new Map(Object.entries(sources));
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
      clean(textOf(value)),
      { text: clean(source === "default" ? source : tilde(source, screen.home)), style: "dim" as const },
    ]);
    print(world, table(rows, [{}, { min: 8 }, { min: 8, cut: "start" as const }], screen));
    for (const problem of problems) print(world, wrap(`! ${clean(problem)}`, screen.width, 2));
  }
  return problems.length === 0 ? 0 : 1;
}
