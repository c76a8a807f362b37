/** Writes one setting into the user's own config.json, and takes one out. */
import { mkdirSync } from "node:fs";
import { type Config, type ConfigKey, loadConfig } from "../../daemon/config/config.ts";
import { changeSeen } from "../../daemon/config/off-switch.ts";
import { named, readText, replaceText, retried, whileLocked } from "../../hooks/install/file.ts";
import { append, member, parseObject, remove, replace } from "../../hooks/install/json-text.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/text.ts";
import { isAgents, refuseAgent } from "../person.ts";
import type { ProcessContext } from "../process-context.ts";
import { fail, printDone } from "../with-daemon.ts";
import { settingsInForce, waitingText } from "./in-force.ts";

/** Sets a value after it was checked as the daemon checks it. Returns the exit code. */
export async function setSetting(
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
export async function unsetSetting(
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
