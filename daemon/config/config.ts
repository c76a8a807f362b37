/** Reads Kite's settings from variables, the user's file and a project's file. */
import { join } from "node:path";
import * as z from "zod";
import { type Gates, gatePresets, gatesText, stricter } from "../../protocol/lead/gates.ts";
import { type TeamMode, teamModes } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/nearest.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { readSmall } from "../facts/prober.ts";
import { type Check, checksIn, setupIn } from "../lead/checks/setting.ts";
import { gatesSchema } from "../lead/gates/setting.ts";
import { healthDefaults, healthSchema } from "../lead/health/setting.ts";
import { spawnClientsSchema } from "../lead/spawns/setting.ts";
import { globProblem } from "./glob.ts";
import { notifySchema } from "./notify-setting.ts";
import { objectIn, textOf } from "./object-file.ts";

const weekMs = 7 * 24 * 3_600_000;
/** The answer has to arrive before the hook gives up and lets the tool run. */
const longestWaitMs = limits.hookWriteBudgetMs - limits.firstByteMs;

function milliseconds(min: number, max: number, because = "") {
  const error = `expected a whole number of milliseconds from ${min} to ${max}${because}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

function wholeNumber(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

const glob = z
  .string()
  .min(1)
  .max(limits.globBytes)
  .refine(text => globProblem(text) === null, { error: ({ input }) => globProblem(String(input)) ?? "" });

/** The settings and their bounds. */
const schema = z
  .strictObject({
    /** How long a hook waits for a lock, in ms; longer than the shortest `yieldMs`. */
    lockWaitMs: milliseconds(2, longestWaitMs, " (the hook gives up after that and lets the tool run)"),
    /** A turn lock untouched for this long, in ms, yields to a waiter. */
    yieldMs: milliseconds(1, longestWaitMs),
    /** The daemon ends itself this long after the last session, in ms; 0: never. */
    idleExitMs: milliseconds(0, weekMs),
    logLevel: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    /** The answer to a git command that would wipe another actor's uncommitted work. */
    treeGuard: z.enum(["deny", "warn", "off"]),
    /** How long a turn lock resists a waiter: until it is untouched for `yieldMs`, or while an edit writes the file. */
    keepLockUntil: z.enum(["turn", "edit"]),
    /** Which gates hold agents back: `off`, `team`, `strict`, or each gate singly. */
    gates: gatesSchema,
    /** Spawned agents of one project that have not ended. */
    spawnMax: wholeNumber(1, limits.spawnsLiveMax),
    /** How deep agents may spawn agents; 1: a spawned agent spawns none. */
    spawnDepth: wholeNumber(1, limits.spawnDepthMax),
    /** Clients that `kite spawn --client` starts, by name: the words of their commands. */
    spawn: spawnClientsSchema,
    /** What the rules of a client's own teams do with a call that breaks one. */
    teams: z.enum(teamModes),
    /** When an agent that gives no sign of life is quiet and stalled, and what is done then. */
    health: healthSchema,
    /** What `kite notify` runs, and after how long. */
    notify: notifySchema,
    /** Globs of files that hooks do not lock. */
    ignore: z.array(glob).max(limits.filesMax),
  })
  .partial();

type Found = z.infer<typeof schema>;
export type ConfigKey = keyof Found;
export type ConfigValues = { readonly [K in ConfigKey]-?: NonNullable<Found[K]> };

const defaults: ConfigValues = {
  lockWaitMs: limits.hookWaitMs,
  yieldMs: limits.yieldMs,
  idleExitMs: limits.idleExitMs,
  logLevel: "info",
  treeGuard: "deny",
  keepLockUntil: "turn",
  gates: gatePresets.off,
  spawnMax: limits.spawnsLiveDefault,
  spawnDepth: limits.spawnDepthDefault,
  spawn: {},
  teams: "enforce",
  health: healthDefaults,
  notify: {},
  ignore: [],
};

/** The source of a `yieldMs` that is not set beside a `lockWaitMs` that is. */
const followsWait = `${defaults.yieldMs / defaults.lockWaitMs} of lockWaitMs`;

/** Returns the `yieldMs` for a wait, in the ratio of the defaults: less than `waitMs`, and at least 1. */
function yieldAfter(waitMs: number): number {
  return Math.max(1, Math.floor((waitMs * defaults.yieldMs) / defaults.lockWaitMs));
}

const variables: Readonly<Record<ConfigKey, string>> = {
  lockWaitMs: "KITE_LOCK_WAIT_MS",
  yieldMs: "KITE_YIELD_MS",
  idleExitMs: "KITE_IDLE_EXIT_MS",
  logLevel: "KITE_LOG_LEVEL",
  treeGuard: "KITE_TREE_GUARD",
  keepLockUntil: "KITE_KEEP_LOCK_UNTIL",
  gates: "KITE_GATES",
  spawnMax: "KITE_SPAWN_MAX",
  spawnDepth: "KITE_SPAWN_DEPTH",
  spawn: "KITE_SPAWN_CLIENTS",
  teams: "KITE_TEAMS",
  health: "KITE_HEALTH",
  notify: "KITE_NOTIFY",
  ignore: "KITE_IGNORE",
};

/** Earlier names of settings; they count if the current name is not set. */
const oldKeys: Readonly<Record<string, ConfigKey>> = { hold: "keepLockUntil" };
const oldVariables: Readonly<Record<string, ConfigKey>> = { KITE_HOLD: "keepLockUntil" };

/** Kite's variables that are no settings. */
const otherVariables = ["KITE_HOME", "KITE_SESSION", "KITE_SOCKET", "KITE_AGENT", "KITE_CHECK", "KITE_SPAWN"];

/** Settings of a project: stricter gates and rules of teams, more globs to ignore, how long its turn locks are kept, and a shorter wait. */
const projectKeys: ReadonlySet<string> = new Set<ConfigKey>([
  "gates",
  "teams",
  "ignore",
  "keepLockUntil",
  "lockWaitMs",
]);

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
  const raw = await readObject(request.paths.config, read, problems);
  if (raw.delete("checks"))
    problems.push(`${request.paths.config}: checks belong to a project: name them in its .kite/config.json`);
  if (raw.delete("setup"))
    problems.push(`${request.paths.config}: a setup belongs to a project: name it in its .kite/config.json`);
  const user = accept(raw, request.paths.config, problems);
  const lockWaitMs = env.lockWaitMs ?? user.lockWaitMs ?? defaults.lockWaitMs;
  const values = {
    lockWaitMs,
    yieldMs: env.yieldMs ?? user.yieldMs ?? yieldAfter(lockWaitMs),
    idleExitMs: env.idleExitMs ?? user.idleExitMs ?? defaults.idleExitMs,
    logLevel: env.logLevel ?? user.logLevel ?? defaults.logLevel,
    treeGuard: env.treeGuard ?? user.treeGuard ?? defaults.treeGuard,
    keepLockUntil: env.keepLockUntil ?? user.keepLockUntil ?? defaults.keepLockUntil,
    gates: env.gates ?? user.gates ?? defaults.gates,
    spawnMax: env.spawnMax ?? user.spawnMax ?? defaults.spawnMax,
    spawnDepth: env.spawnDepth ?? user.spawnDepth ?? defaults.spawnDepth,
    spawn: user.spawn ?? defaults.spawn,
    teams: env.teams ?? user.teams ?? defaults.teams,
    health: env.health ?? user.health ?? defaults.health,
    notify: user.notify ?? defaults.notify,
    ignore: env.ignore ?? user.ignore ?? defaults.ignore,
  };
  const sourceOf = (key: ConfigKey): string => {
    if (env[key] !== undefined) return variables[key];
    return user[key] === undefined ? "default" : request.paths.config;
  };
  const sources = {
    lockWaitMs: sourceOf("lockWaitMs"),
    yieldMs: sourceOf("yieldMs"),
    idleExitMs: sourceOf("idleExitMs"),
    logLevel: sourceOf("logLevel"),
    treeGuard: sourceOf("treeGuard"),
    keepLockUntil: sourceOf("keepLockUntil"),
    gates: sourceOf("gates"),
    spawnMax: sourceOf("spawnMax"),
    spawnDepth: sourceOf("spawnDepth"),
    spawn: sourceOf("spawn"),
    teams: sourceOf("teams"),
    health: sourceOf("health"),
    notify: sourceOf("notify"),
    ignore: sourceOf("ignore"),
  };
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
  const config = { values, yieldFollows, sources, problems };
  if (request.projectDir === undefined) return config;
  const path = join(request.projectDir, ".kite", "config.json");
  // In the home directory, the user's file and the project's are the same.
  if (path === request.paths.config) return config;
  const { values: all, taken } = tighten(config, path, await textOf(path, read, problems), problems);
  const own = Object.fromEntries(taken.map(key => [key, path]));
  if (taken.includes("ignore") && sources.ignore !== "default") own["ignore"] = `${sources.ignore}, ${path}`;
  if (all.yieldMs !== values.yieldMs) own["yieldMs"] = followsWait;
  return { ...config, values: all, sources: { ...sources, ...own } };
}

/**
 * Returns the user's values tightened by the project's file, and its checks; `taken` names the settings that count. `text` is that
 * file's content, null if it is missing.
 */
export function tighten(
  { values: user, yieldFollows }: Pick<Config, "values" | "yieldFollows">,
  path: string,
  text: string | null,
  problems: string[],
): {
  readonly values: ConfigValues;
  readonly taken: readonly ConfigKey[];
  readonly checks: readonly Check[];
  /** The gates as the file sets them; null: it sets none. */
  readonly gates: Gates | null;
  readonly setup: string | null;
} {
  const raw = text === null ? new Map() : withNewKeys(objectIn(text, path, problems));
  const checks = checksIn(raw.get("checks"), path, problems);
  const setup = setupIn(raw.get("setup"), path, problems);
  for (const key of ["checks", "setup"]) raw.delete(key);
  const project = accept(onlyProjectKeys(raw, path, problems), path, problems);
  const values = { ...user };
  const taken: ConfigKey[] = [];
  if (project.ignore !== undefined && project.ignore.length > 0) {
    values.ignore = [...new Set([...user.ignore, ...project.ignore])];
    taken.push("ignore");
  }
  if (project.keepLockUntil !== undefined && project.keepLockUntil !== user.keepLockUntil) {
    values.keepLockUntil = project.keepLockUntil;
    taken.push("keepLockUntil");
  }
  if (project.gates !== undefined) {
    const gates = stricter(user.gates, project.gates);
    const isStricter = gatesText(gates) !== gatesText(user.gates);
    if (isStricter) {
      values.gates = gates;
      taken.push("gates");
    } else if (gatesText(project.gates) !== gatesText(user.gates))
      problems.push(
        `${path}: gates ${gatesText(project.gates)} are ignored: a project may only make them stricter (${gatesText(user.gates)})`,
      );
  }
  const isLooser = (mode: TeamMode) => teamModes.indexOf(mode) < teamModes.indexOf(user.teams);
  if (project.teams !== undefined && isLooser(project.teams)) {
    problems.push(
      `${path}: teams ${project.teams} is ignored: a project may only make it stricter (${user.teams})`,
    );
  } else if (project.teams !== undefined && project.teams !== user.teams) {
    values.teams = project.teams;
    taken.push("teams");
  }
  const wait = project.lockWaitMs;
  // The wait counts: a holder that yields only later would refuse every waiter. A lock kept until the edit ends yields at
  // once, whatever `yieldMs` is.
  const moves =
    yieldFollows || (values.keepLockUntil !== "edit" && wait !== undefined && wait <= user.yieldMs);
  if (wait !== undefined && wait > user.lockWaitMs) {
    problems.push(`${path}: lockWaitMs ${wait} is ignored: a project may only lower it (${user.lockWaitMs})`);
  } else if (wait !== undefined && wait < user.lockWaitMs) {
    values.lockWaitMs = wait;
    if (moves) values.yieldMs = yieldAfter(wait);
    taken.push("lockWaitMs");
  }
  return { values, taken, checks, gates: project.gates ?? null, setup };
}

type Raw = Map<string, unknown>;

function envValues(env: ConfigRequest["env"], problems: string[]): Found {
  const raw: Raw = new Map();
  const names = new Map<string, string>(Object.entries(variables).map(([key, name]) => [name, key]));
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("KITE_") || text === undefined || text === "") continue;
    const old = oldVariables[name];
    const isReplaced = old !== undefined && Boolean(env[variables[old]]);
    const key = isReplaced ? undefined : (names.get(name) ?? old);
    if (key !== undefined) {
      raw.set(
        key,
        key === "ignore" ? text.split(":").filter(g => g !== "") : /^\d+$/.test(text) ? Number(text) : text,
      );
    } else if (!isReplaced && !otherVariables.includes(name)) {
      // Other programs may use the prefix too: only a likely typing error is reported.
      const meant = nearest(name, names.keys());
      if (meant !== null)
        problems.push(`the environment variable ${name} is not known; did you mean ${meant}?`);
    }
  }
  return accept(raw, "the environment", problems, key => variables[key]);
}

async function readObject(
  path: string,
  read: (path: string) => Promise<string | null>,
  problems: string[],
): Promise<Raw> {
  const text = await textOf(path, read, problems);
  return text === null ? new Map() : withNewKeys(objectIn(text, path, problems));
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
  const parsed = schema.safeParse(Object.fromEntries(raw));
  if (parsed.success) return parsed.data;
  const valid = new Map(raw);
  for (const issue of parsed.error.issues) {
    const isTop = issue.code === "unrecognized_keys" && issue.path.length === 0;
    const bad = isTop ? issue.keys : [String(issue.path[0])];
    for (const word of bad) {
      if (!valid.delete(word)) continue;
      const key = isKey(word) ? word : null;
      const meant = nearest(word, Object.keys(defaults));
      const hint =
        meant === null ? `known are ${Object.keys(defaults).join(", ")}` : `did you mean ${meant}?`;
      problems.push(
        key === null
          ? `${where}: the key ${JSON.stringify(word)} is not known; ${hint}`
          : `${where}: ${nameOf(key)} is ignored: ${issue.message}`,
      );
    }
  }
  const rest = schema.safeParse(Object.fromEntries(valid));
  return rest.success ? rest.data : {};
}

function onlyProjectKeys(raw: Raw, path: string, problems: string[]): Raw {
  const kept: Raw = new Map();
  for (const [key, value] of raw) {
    if (projectKeys.has(key) || !isKey(key)) kept.set(key, value);
    else
      problems.push(
        `${path}: a project may not set ${key}; set it in your own config.json or as ${variables[key]}`,
      );
  }
  return kept;
}

function isKey(word: string): word is ConfigKey {
  return Object.hasOwn(defaults, word);
}
