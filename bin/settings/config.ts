/** `kite config` shows each setting and its source, or changes one. */

import { mkdirSync } from "node:fs";
import type { Command } from "commander";
import { type Config, type ConfigKey, type ConfigValues, loadConfig } from "../../daemon/config/config.ts";
import { changeSeen } from "../../daemon/config/off-switch.ts";
import { settings as settingRows } from "../../daemon/config/settings.ts";
import { named, readText, replaceText, retried, whileLocked } from "../../hooks/install/file.ts";
import { append, member, parseObject, remove, replace } from "../../hooks/install/json-text.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/text.ts";
import { isAgents, refuseAgent } from "../context/person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../context/process-context.ts";
import { type FindRepository, findRepository } from "../context/project.ts";
import { fail, printDone } from "../context/with-daemon.ts";
import { leadSettings } from "../leading.ts";
import { tilde } from "../view/places.ts";
import { clean, table, wrap } from "../view/text.ts";
import { sawFile, settingsInForce, waitingText } from "./off-now.ts";

// Writes one setting into the user's own config.json, and takes one out.

/** Sets a value after it was checked as the daemon checks it. Returns the exit code. */
async function setSetting(
  world: ProcessContext,
  key: string,
  text: string,
  json: boolean,
  pid?: number,
): Promise<number> {
  const refused = await refuseAgent(world, json, "config", { isAgent: one => isAgents(one, pid) });
  if (refused !== null) return refused;
  const value = parsedValue(key, text);
  const { paths } = world;
  const problem = (await problemWith(world, { [key]: value })) ?? (await problemWithWait(world, key, value));
  if (problem !== null) return fail(world, json, "invalid_setting", problem);
  const notes: string[] = [];
  await change(world, old => {
    let next = withMember(old, key, value);
    // A longer yield than the wait would refuse every waiter before the holder yields.
    if (key === "lockWaitMs" && isTooLong(next, value)) {
      next = withoutMember(next, "yieldMs");
      notes.push("yieldMs was not less than that and is left out: it follows lockWaitMs again");
    }
    return next;
  });
  const now = await loadConfig({ env: world.env, paths });
  notes.push(...overridden(now, key), ...(key === "mode" ? [modeNote[now.values.mode]] : []));
  if ((await settingsInForce(world))?.waiting.includes(key) === true) notes.push(waitingText(key));
  return printDone(world, json, { ok: true, key, value, file: paths.config, notes }, () => [
    `${key} is ${typeof value === "string" ? value : JSON.stringify(value)} in ${paths.config}`,
    ...notes,
  ]);
}

/** What a change of the mode means. */
const modeNote = {
  act: "it counts at once, also for sessions that run",
  observe: "it counts at once, also for sessions that run; what Kite would have done, kite stats says",
} as const;

/** Writes one setting, whose value is valid, into the user's file. */
export function writeSetting(world: ProcessContext, key: ConfigKey, value: unknown): Promise<void> {
  return change(world, old => withMember(old, key, value));
}

/** Takes one setting out of the user's file. */
export function takeSetting(world: ProcessContext, key: ConfigKey): Promise<void> {
  return change(world, old => withoutMember(old, key));
}

/** Takes a key out of the file, also one that Kite does not know. Returns the exit code. */
async function unsetSetting(
  world: ProcessContext,
  key: string,
  json: boolean,
  pid?: number,
): Promise<number> {
  const refused = await refuseAgent(world, json, "config", { isAgent: one => isAgents(one, pid) });
  if (refused !== null) return refused;
  let was = false;
  await change(world, old => {
    const next = withoutMember(old, key);
    was = next !== old;
    return next;
  });
  const { config } = world.paths;
  return printDone(world, json, { ok: true, key, was, file: config }, () => [
    was ? `${key} was taken out of ${config}` : `${config} has no ${key}; nothing changed`,
  ]);
}

/** A list for `ignore` has colons between its globs, as its variable; other values are JSON, else a text. */
function parsedValue(key: string, text: string): unknown {
  if (key === "ignore" && !text.startsWith("[")) return text.split(":").filter(glob => glob !== "");
  try {
    return JSON.parse(text);
  } catch {
    return text; // Most people type a word without quotes.
  }
}

/** Returns what is wrong with these settings alone, without the name of a file. */
async function problemWith(world: ProcessContext, settings: object): Promise<string | null> {
  const [key = ""] = Object.keys(settings);
  const known = Object.keys((await loadAlone(world, {})).values);
  if (!known.includes(key)) {
    const meant = nearest(key, known);
    return `${key} is no setting of Kite; ${meant === null ? `known are ${known.join(", ")}` : `did you mean ${meant}?`}`;
  }
  const { problems } = await loadAlone(world, settings);
  const problem = problems.find(one => !one.startsWith("yieldMs ("));
  return problem?.replace(`${world.paths.config}: `, "").replace("is ignored: ", "was not set: ") ?? null;
}

/** A yield as long as the wait cannot be meant: the wait is what people feel, and it is set by its own name. */
async function problemWithWait(world: ProcessContext, key: string, value: unknown): Promise<string | null> {
  if (key !== "yieldMs" || typeof value !== "number") return null;
  const { lockWaitMs } = (await loadConfig({ env: world.env, paths: world.paths })).values;
  if (value < lockWaitMs) return null;
  return `yieldMs was not set: it must be less than lockWaitMs (${lockWaitMs}); raise that first: kite config set lockWaitMs MS`;
}

function loadAlone({ paths }: ProcessContext, settings: object): Promise<Config> {
  return loadConfig({ env: {}, paths, read: () => Promise.resolve(JSON.stringify(settings)) });
}

/** Says that a variable of this shell counts more than the file. */
function overridden({ sources }: Config, key: string): string[] {
  const source = new Map(Object.entries(sources)).get(key) ?? "";
  return source.startsWith("KITE_") ? [`${source} of this shell counts more: unset ${source}`] : [];
}

function isTooLong(text: string, waitMs: unknown): boolean {
  const settings: { readonly yieldMs?: unknown } = JSON.parse(text.replace(/^\uFEFF/, ""));
  return typeof settings.yieldMs === "number" && typeof waitMs === "number" && settings.yieldMs >= waitMs;
}

function withMember(text: string, key: string, value: unknown): string {
  const root = parseObject(text);
  const there = member(root, key)?.value;
  return there === undefined ? append(text, root, key, value) : replace(text, there, value);
}

function withoutMember(text: string, key: string): string {
  const root = parseObject(text);
  const index = root.children.findLastIndex(child => child.key === key);
  return index === -1 ? text : remove(text, root, index);
}

/** Rewrites the file and keeps every other byte of it. Throws InstallFailed if it holds no JSON object. */
async function change({ paths }: ProcessContext, edit: (text: string) => string): Promise<void> {
  const { config } = paths;
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  await whileLocked(config, async () => {
    await retried(config, () => {
      const old = readText(config, limits.smallFileBytes);
      const next = named(config, () => edit(old ?? "{}\n"));
      if (next === (old ?? "{}\n")) return true;
      return replaceText(config, next, 0o600, old) ? true : null;
    });
    changeSeen(paths, "config", text => edit(text ?? "{}\n"));
  });
}

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
