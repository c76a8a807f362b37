/** Reads Kite's settings from variables, the user's file and a project's file. */

import { join } from "node:path";
import * as z from "zod";
import { errorText, jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { nearest } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import { readSmall } from "../facts/prober.ts";
import type { Setting } from "./base-settings.ts";
import { sections, settings } from "./settings.ts";

// Reads files that hold one JSON object. A file with a problem counts as missing; a sentence names each problem.

/** Returns a file's text; null if it is missing or has a problem. */
export async function textOf(
  path: string,
  read: (path: string) => Promise<string | null>,
  problems: string[],
): Promise<string | null> {
  try {
    const text = await read(path);
    if (text === null)
      problems.push(`${path} is ignored: it is no regular file of at most ${limits.smallFileBytes} bytes`);
    return text;
  } catch (error) {
    // A missing file is the usual case. After any other problem the daemon goes on without the file and reports it.
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      problems.push(`${path} is ignored: ${errorText(error)}`);
    }
    return null;
  }
}

/** Returns the fields of the JSON object that a text holds; none if it holds no object. */
export function objectIn(text: string, path: string, problems: string[]): Map<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return new Map(Object.entries(value));
    problems.push(`${path} is ignored: it must hold one JSON object`);
  } catch (error) {
    // As above: the daemon goes on without the file and reports it.
    problems.push(`${path} is ignored: it is no JSON (${jsonProblem(text) ?? errorText(error)})`);
  }
  return new Map();
}

type Settings = typeof settings;
type Sections = typeof sections;
export type ConfigKey = keyof Settings;
export type ConfigValues = { readonly [K in ConfigKey]: Settings[K]["initial"] };
/** The sections of a project's file. */
export type SectionValues = { readonly [K in keyof Sections]: ReturnType<Sections[K]["read"]> };
/** The settings that a file or the environment has. */
export type Found = { readonly [K in ConfigKey]?: ConfigValues[K] | undefined };

const keys = Object.keys(settings) as readonly ConfigKey[];

/** The settings that are lists of texts. */
const lists: ReadonlySet<string> = new Set(keys.filter(key => Array.isArray(settings[key].initial)));

const schema = z
  .strictObject(Object.fromEntries(keys.map((key): [string, z.ZodType] => [key, settings[key].schema])))
  .partial();

/** Returns an object with a value for each setting. */
function perSetting<V>(of: (key: ConfigKey) => V): Record<ConfigKey, V> {
  return Object.fromEntries(keys.map(key => [key, of(key)])) as Record<ConfigKey, V>;
}

const { lockWaitMs: wait, yieldMs: yields } = settings;

/** The source of a `yieldMs` that is not set beside a `lockWaitMs` that is. */
const followsWait = `${yields.initial / wait.initial} of lockWaitMs`;

/** Returns the `yieldMs` for a wait, in the ratio of the defaults: less than `waitMs`, and at least 1. */
function yieldAfter(waitMs: number): number {
  return Math.max(1, Math.floor((waitMs * yields.initial) / wait.initial));
}

/** Earlier names of settings; they count if the current name is not set. */
const oldKeys: Readonly<Record<string, ConfigKey>> = { hold: "keepLockUntil" };
const oldVariables: Readonly<Record<string, ConfigKey>> = { KITE_HOLD: "keepLockUntil" };

/** Kite's variables that are no settings. */
const otherVariables = ["KITE_HOME", "KITE_SESSION", "KITE_SOCKET", "KITE_AGENT", "KITE_CHECK", "KITE_SPAWN"];

export interface Config {
  readonly values: ConfigValues;
  /** `yieldMs` is not set: it follows `lockWaitMs`, also when a project lowers that. */
  readonly yieldFollows: boolean;
  /**
   * The source of each value: "default", a variable's name, a file, for `yieldMs` perhaps `followsWait`. `ignore` may
   * have two, with ", " between.
   */
  readonly sources: Readonly<Record<ConfigKey, string>>;
  /** A sentence for each setting that was not used; none of them prevents a start. */
  readonly problems: readonly string[];
}

/** The user's settings as a daemon reads them, each time anew. */
export type UserConfig = Pick<Config, "values" | "sources" | "yieldFollows"> & {
  /** Why nothing of the user's file counts now; absent: it is not read again. */
  readonly problem?: string | null;
  /** The settings whose new value counts from the daemon's next start. */
  readonly waiting?: readonly ConfigKey[];
};

export interface ConfigRequest {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly paths: Pick<KitePaths, "config">;
  /** The project whose `.kite/config.json` applies. */
  readonly projectDir?: string;
  /**
   * Reads a file; null if it is missing or too long. The daemon passes a reader with a budget: a project's disk may
   * hang.
   */
  readonly read?: (path: string) => Promise<string | null>;
}

/**
 * Loads the configuration: variables override the user's file, which overrides the defaults. The project's file then
 * only tightens it. Invalid settings are skipped one by one and named in `problems`.
 */
export async function loadConfig(request: ConfigRequest): Promise<Config> {
  const read = request.read ?? readSmall;
  const problems: string[] = [];
  const env = envValues(request.env, problems);
  const config = userConfig(
    env,
    request.paths.config,
    await textOf(request.paths.config, read, problems),
    problems,
  );
  if (request.projectDir === undefined) return config;
  const { values, sources } = config;
  const path = join(request.projectDir, ".kite", "config.json");
  // In the home directory, the user's file and the project's are the same.
  if (path === request.paths.config) return config;
  const { values: all, taken } = tighten(config, path, await textOf(path, read, problems), problems);
  const own = Object.fromEntries(taken.map(key => [key, path]));
  if (taken.includes("ignore") && sources.ignore !== "default") own["ignore"] = `${sources.ignore}, ${path}`;
  if (all.yieldMs !== values.yieldMs) own["yieldMs"] = followsWait;
  return { ...config, values: all, sources: { ...sources, ...own } };
}

/** Returns the user's settings: those of variables, else of the file's text (null: there is none), else the defaults. */
export function userConfig(env: Found, path: string, text: string | null, problems: string[]): Config {
  const raw: Raw = text === null ? new Map() : withNewKeys(objectIn(text, path, problems));
  for (const [name, { elsewhere }] of Object.entries(sections))
    if (raw.delete(name)) problems.push(`${path}: ${elsewhere}`);
  const user = accept(raw, path, problems);
  const lockWaitMs = env.lockWaitMs ?? user.lockWaitMs ?? wait.initial;
  const values = {
    ...(perSetting(key => env[key] ?? user[key] ?? settings[key].initial) as ConfigValues),
    yieldMs: env.yieldMs ?? user.yieldMs ?? yieldAfter(lockWaitMs),
  };
  const sources = perSetting(key => {
    if (env[key] !== undefined) return nameInEnv(key);
    return user[key] === undefined ? "default" : path;
  });
  let yieldFollows = sources.yieldMs === "default";
  if (values.yieldMs >= values.lockWaitMs) {
    const set = values.yieldMs;
    values.yieldMs = yieldAfter(lockWaitMs);
    problems.push(
      `yieldMs (${set}, ${sources.yieldMs}) must be less than lockWaitMs (${lockWaitMs}, ${sources.lockWaitMs}), ` +
        `or a waiter is refused before the holder yields; ${values.yieldMs} is used`,
    );
    yieldFollows = true;
  }
  if (yieldFollows) sources.yieldMs = sources.lockWaitMs === "default" ? "default" : followsWait;
  return { values, yieldFollows, sources, problems };
}

/** What a project's file says. */
export interface Tightened {
  /** The user's values, tightened. */
  readonly values: ConfigValues;
  /** The settings that count. */
  readonly taken: readonly ConfigKey[];
  /** The settings as the file has them. */
  readonly own: Found;
  readonly sections: SectionValues;
}

/** Returns what a project's file of this text makes of the user's values; null: it is missing. */
export function tighten(
  { values: user, yieldFollows }: Pick<Config, "values" | "yieldFollows">,
  path: string,
  text: string | null,
  problems: string[],
): Tightened {
  const raw = text === null ? new Map() : withNewKeys(objectIn(text, path, problems));
  const parts = Object.entries(sections).map(([name, section]) => [
    name,
    section.read(raw.get(name), path, problems),
  ]);
  for (const name of Object.keys(sections)) raw.delete(name);
  const own = accept(onlyProjectKeys(raw, path, problems), path, problems);
  const tightened = stricter(user, own, ignored => problems.push(`${path}: ${ignored}`));
  const values = { ...user, ...tightened };
  // The wait counts: a holder that yields only later would refuse every waiter. A lock kept until the edit ends yields at
  // once, whatever `yieldMs` is.
  const moves = yieldFollows || (values.keepLockUntil !== "edit" && values.lockWaitMs <= user.yieldMs);
  if (tightened.lockWaitMs !== undefined && moves) values.yieldMs = yieldAfter(values.lockWaitMs);
  return {
    values,
    taken: Object.keys(tightened).filter(isKey),
    own,
    sections: Object.fromEntries(parts) as SectionValues,
  };
}

/** Returns the settings that `own` tightens; `tell` hears why one of them is ignored. */
export function stricter(
  user: ConfigValues,
  own: Found,
  tell: (ignored: string) => void,
): Partial<ConfigValues> {
  const made = new Map<ConfigKey, unknown>();
  for (const key of keys) {
    const row: Setting = settings[key];
    const result = own[key] === undefined ? null : (row.tighten?.(user[key], own[key]) ?? null);
    if (result === null) continue;
    if ("value" in result) made.set(key, result.value);
    else tell(result.ignored);
  }
  return Object.fromEntries(made);
}

/** Returns the fields that are settings and say something. */
export function settingsIn(fields: object): Found {
  return Object.fromEntries(Object.entries(fields).filter(([key, value]) => isKey(key) && value !== null));
}

type Raw = Map<string, unknown>;

/** Returns the settings that variables have. */
export function envValues(env: ConfigRequest["env"], problems: string[]): Found {
  const raw: Raw = new Map();
  const names = new Map<string, string>(keys.map(key => [nameInEnv(key), key]));
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("KITE_") || text === undefined || text === "") continue;
    const old = oldVariables[name];
    const isReplaced = old !== undefined && Boolean(env[nameInEnv(old)]);
    const key = isReplaced ? undefined : (names.get(name) ?? old);
    if (key !== undefined) {
      raw.set(key, variableValue(key, text));
    } else if (!isReplaced && !otherVariables.includes(name)) {
      // Other programs may use the prefix too: only a likely typing error is reported.
      const meant = nearest(name, names.keys());
      if (meant !== null)
        problems.push(`the environment variable ${name} is not known; did you mean ${meant}?`);
    }
  }
  return accept(withoutFileOnly(raw, problems), "the environment", problems, nameInEnv);
}

/** Returns the variable of a setting. If it has none, returns the name that people would try. */
function nameInEnv(key: ConfigKey): string {
  return settings[key].variable ?? `KITE_${key.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`;
}

/** Takes out settings that no variable sets, and says so. */
function withoutFileOnly(raw: Raw, problems: string[]): Raw {
  for (const key of keys) {
    const row: Setting = settings[key];
    if (row.variable === null && raw.delete(key))
      problems.push(`the environment variable ${nameInEnv(key)} is ignored: ${row.elsewhere ?? ""}`);
  }
  return raw;
}

/** A list has colons between its globs, an object is JSON. */
function variableValue(key: string, text: string): unknown {
  if (lists.has(key)) return text.split(":").filter(glob => glob !== "");
  if (/^\d+$/.test(text)) return Number(text);
  if (!text.startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // The setting says which form it expects.
  }
}

function withNewKeys(raw: Raw): Raw {
  for (const [old, key] of Object.entries(oldKeys)) {
    const value = raw.get(old);
    if (raw.delete(old) && !raw.has(key)) raw.set(key, value);
  }
  return raw;
}

/** Returns the valid settings of `raw`; adds a sentence for each invalid one. */
function accept(
  raw: Raw,
  where: string,
  problems: string[],
  nameOf: (key: ConfigKey) => string = key => key,
): Found {
  const parsed = schema.safeParse(Object.fromEntries(raw), { error: noWords });
  if (parsed.success) return parsed.data as Found;
  const valid = new Map(raw);
  for (const issue of parsed.error.issues) {
    const isTop = issue.code === "unrecognized_keys" && issue.path.length === 0;
    const bad = isTop ? issue.keys : [String(issue.path[0])];
    for (const word of bad) {
      if (!valid.delete(word)) continue;
      const key = isKey(word) ? word : null;
      const meant = nearest(word, keys);
      const hint = meant === null ? `known are ${keys.join(", ")}` : `did you mean ${meant}?`;
      problems.push(
        key === null
          ? `${where}: the key ${JSON.stringify(word)} is not known; ${hint}`
          : `${where}: ${nameOf(key)} is ignored: ${wordsOf(key, issue)}`,
      );
    }
  }
  const rest = schema.safeParse(Object.fromEntries(valid));
  return rest.success ? (rest.data as Found) : {};
}

/** Stands for the words of the package that checks values, if the setting itself has none. */
const noWords = () => "-";

/** Returns what a setting says of a wrong value, and which key within it is not known. */
function wordsOf(key: ConfigKey, issue: z.core.$ZodIssue): string {
  if (issue.message !== noWords()) return issue.message;
  // No setting has this value, so the form of the whole is what it says.
  const form = settings[key].schema.safeParse(undefined, { error: noWords }).error?.issues[0]?.message;
  const expected = form === undefined || form === noWords() ? "the value has another form" : form;
  if (issue.code !== "unrecognized_keys") return expected;
  return `it has no key ${issue.keys.join(", ")}; ${expected}`;
}

function onlyProjectKeys(raw: Raw, path: string, problems: string[]): Raw {
  const kept: Raw = new Map();
  for (const [key, value] of raw) {
    if (!isKey(key) || "tighten" in settings[key]) kept.set(key, value);
    else problems.push(`${path}: a project may not set ${key}; ${placeOf(settings[key])}`);
  }
  return kept;
}

function placeOf({ variable, elsewhere }: Setting): string {
  return elsewhere ?? `set it in your own config.json or as ${variable}`;
}

function isKey(word: string): word is ConfigKey {
  return Object.hasOwn(settings, word);
}
