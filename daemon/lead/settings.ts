/**
 * The checks that a project's `.kite/config.json` names. Any agent may write that file: names and texts are bounded, and
 * nothing here runs a command. A person trusts the text of all checks at once, by its hash.
 */

import { createHash } from "node:crypto";
import * as z from "zod";
import {
  type Gates,
  gateModes,
  gateNames,
  gatePresets,
  gatesInForce,
  gatesText,
  gatesUnset,
  stricter,
} from "../../protocol/lead/roles.ts";
import type { StalledSetting } from "../../protocol/lead/spawn.ts";
import { type TeamMode, teamModes } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import { quote } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import { oneOf, type Section, type SettingTable, setting } from "../config/base-settings.ts";
import { globProblem } from "../config/glob.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";

export interface Check {
  readonly name: string;
  /** A line for `sh -c`, run at the top of the worktree. */
  readonly command: string;
  /** Globs from the top of the worktree: the check matters only if one of their files changed; null: always. */
  readonly when: readonly string[] | null;
}

/** A letter first, so that no name is an option or a file's. */
const namePattern = new RegExp(`^[A-Za-z][A-Za-z0-9_.:-]{0,${limits.checkNameChars - 1}}$`);

/** Returns the valid checks of the setting `checks`, in the file's order; adds a sentence for each problem. */
export function checksIn(value: unknown, path: string, problems: string[]): readonly Check[] {
  if (value === undefined) return [];
  if (!isObject(value)) {
    problems.push(`${path}: checks is ignored: expected an object like {"test": {"command": "npm test"}}`);
    return [];
  }
  const checks: Check[] = [];
  for (const [name, fields] of Object.entries(value)) {
    const found = checkOf(name, fields);
    if (typeof found === "string") problems.push(`${path}: the check ${quote(name)} is ignored: ${found}`);
    else if (checks.length < limits.checksMax) checks.push(found);
    else problems.push(`${path}: the check ${quote(name)} is ignored: at most ${limits.checksMax} count`);
  }
  return checks;
}

/**
 * Returns the setting `setup`: a shell line that makes a fresh worktree ready for the checks, once before the first one;
 * null if there is none. Adds a sentence if it is invalid.
 */
export function setupIn(value: unknown, path: string, problems: string[]): string | null {
  if (value === undefined) return null;
  if (isCommand(value)) return value;
  const error = `expected a shell line of at most ${limits.checkCommandChars} characters, like "npm ci"`;
  problems.push(`${path}: setup is ignored: ${error}`);
  return null;
}

const checks: Section<readonly Check[]> = {
  read: checksIn,
  elsewhere: "checks belong to a project: name them in its .kite/config.json",
};

const setup: Section<string | null> = {
  read: setupIn,
  elsewhere: "a setup belongs to a project: name it in its .kite/config.json",
};

export const checkSections = { checks, setup };

function isCommand(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    !value.includes("\0") &&
    value.length <= limits.checkCommandChars
  );
}

/** Returns a check, or what is wrong with it. */
function checkOf(name: string, fields: unknown): Check | string {
  if (!namePattern.test(name)) {
    return `a name begins with a letter and has up to ${limits.checkNameChars} letters, digits and _ . : -`;
  }
  if (!isObject(fields)) return 'expected an object like {"command": "npm test"}';
  for (const field of Object.keys(fields))
    if (field !== "command" && field !== "when")
      return `${quote(field)} is not known; known are command, when`;
  const { command, when } = fields;
  if (!isCommand(command)) {
    return `command must be a shell line of at most ${limits.checkCommandChars} characters`;
  }
  if (when === undefined) return { name, command, when: null };
  const globs: readonly unknown[] = Array.isArray(when) ? when : [when];
  const texts = globs.filter(glob => typeof glob === "string");
  if (texts.length !== globs.length || globs.length === 0 || globs.length > limits.checkGlobsMax) {
    return `when must be a glob, or a list of 1 to ${limits.checkGlobsMax} globs`;
  }
  for (const glob of texts) {
    if (glob.length > limits.globBytes) return `a glob of when has more than ${limits.globBytes} characters`;
    const problem = globProblem(glob);
    if (problem !== null) return `when: ${problem}`;
  }
  return { name, command, when: texts };
}

/** Returns the hash of a command's text, by which results name it. */
export function commandHash(command: string): string {
  return createHash("sha256").update(command).digest("hex");
}

/** What a project's file says that a person trusts at once: its checks, its gates (null: it sets none) and its setup. */
export interface TrustedParts {
  readonly checks: readonly Check[];
  readonly gates: Gates | null;
  /** A line for `sh -c`; absent or null: it names none. */
  readonly setup?: string | null;
}

/** Returns the hash of everything that checks, gates and setup say, by which a person trusts them. */
export function trustHash({ checks, gates, setup = null }: TrustedParts): string {
  const rows = checks.map(({ name, command, when }) => [name, command, when]);
  const named = gates === null ? null : gateNames.map(gate => gates[gate]);
  // Without a setup, and without gates, the text is the one that it was before there were any.
  const parts = setup !== null ? [rows, named, setup] : named === null ? rows : [rows, named];
  const text = JSON.stringify(parts);
  return createHash("sha256").update(text).digest("hex");
}

// The form of the setting `gates`.

const preset = z.enum(["off", "team", "strict"]);
const gateMode = z.enum(gateModes).optional();

/** A preset, or single gates over a preset. */
export const gatesSchema = z
  .union(
    [
      preset,
      z.strictObject({
        preset: preset.optional(),
        givenRole: z.literal("enforce").optional(),
        role: gateMode,
        identity: gateMode,
        understanding: gateMode,
        codeView: gateMode,
        delegation: gateMode,
        recovery: gateMode,
        quality: gateMode,
      }),
    ],
    {
      error: `expected off, team or strict, or an object with a preset and any of ${gateNames.join(", ")} as off, warn or enforce`,
    },
  )
  .transform((asked): Gates => {
    if (typeof asked === "string") return gatePresets[asked];
    const { preset: base = "off", ...single } = asked;
    const of = gatePresets[base];
    const isUnset = asked.preset === undefined && single.role === undefined;
    return {
      ...(isUnset || single.givenRole !== undefined ? { givenRole: "enforce" } : {}),
      role: single.role ?? of.role,
      identity: single.identity ?? of.identity,
      understanding: single.understanding ?? of.understanding,
      codeView: single.codeView ?? of.codeView,
      delegation: single.delegation ?? of.delegation,
      recovery: single.recovery ?? of.recovery,
      quality: single.quality ?? of.quality,
    };
  });

export const gateSettings = {
  /** Which gates hold agents back: `off`, `team`, `strict`, or each gate singly. A project may only make them stricter. */
  gates: setting<Gates>({
    says: "what agents have to do before they write, stop or finish: off, team or strict",
    schema: gatesSchema,
    initial: gatesUnset,
    variable: "KITE_GATES",
    tighten: (user, project) => {
      const value = stricter(user, project);
      const [set, had] = [gatesText(project), gatesText(user)];
      if (gatesText(value) !== had) return { value };
      // A file that says nothing of roles asks for no less.
      const isLess =
        user.givenRole === "enforce" && project.givenRole === undefined && user.role !== "enforce";
      if (set === had && !isLess) return null;
      const ignored = `gates ${set} are ignored: a project may only make them stricter (${gatesInForce(user)})`;
      return { ignored };
    },
  }),
} satisfies SettingTable;

// The form of the setting `health`.

/** What the daemon does with an agent that stalled; the times are in milliseconds. */
export interface HealthSetting {
  /** Without a sign of life for this long an agent in a turn is quiet; and while a tool of its is called. */
  readonly quietMs: number;
  readonly quietToolMs: number;
  /** Quiet for this long it is stalled; with a red task, with a critical one. */
  readonly stalledMs: number;
  readonly stalledRedMs: number;
  readonly stalledCriticalMs: number;
  /**
   * `tell`: its lead and people are told. `release`: its tasks and turn locks are given back, too. `replace`: who waits for an
   * agent that Kite spawned replaces it.
   */
  readonly stalled: StalledSetting;
}

export const healthDefaults: HealthSetting = {
  quietMs: limits.quietMs,
  quietToolMs: limits.quietToolMs,
  stalledMs: limits.stalledMs,
  stalledRedMs: limits.stalledRedMs,
  stalledCriticalMs: limits.stalledCriticalMs,
  stalled: "tell",
};

const error = `expected tell, release or replace, or an object with any of ${Object.keys(healthDefaults).join(", ")}; times are whole milliseconds from 1 to ${limits.healthMaxMs}`;
const time = z
  .number({ error })
  .int({ error })
  .min(1, { error })
  .max(limits.healthMaxMs, { error })
  .optional();
const stalled = z.enum(["tell", "release", "replace"]);

/** What to do, or single values over the defaults. */
const healthSchema = z
  .union(
    [
      stalled,
      z.strictObject({
        quietMs: time,
        quietToolMs: time,
        stalledMs: time,
        stalledRedMs: time,
        stalledCriticalMs: time,
        stalled: stalled.optional(),
      }),
    ],
    { error },
  )
  .transform((asked): HealthSetting => {
    if (typeof asked === "string") return { ...healthDefaults, stalled: asked };
    const { stalledMs = healthDefaults.stalledMs } = asked;
    return {
      quietMs: asked.quietMs ?? healthDefaults.quietMs,
      quietToolMs: asked.quietToolMs ?? Math.max(healthDefaults.quietToolMs, asked.quietMs ?? 0),
      stalledMs,
      // Who lowers or raises the time for all tasks means that of dangerous ones, too, if it would be the lesser.
      stalledRedMs: asked.stalledRedMs ?? Math.max(healthDefaults.stalledRedMs, stalledMs),
      stalledCriticalMs: asked.stalledCriticalMs ?? Math.max(healthDefaults.stalledCriticalMs, stalledMs),
      stalled: asked.stalled ?? healthDefaults.stalled,
    };
  });

export const healthSettings = {
  /** When an agent that gives no sign of life is quiet and stalled, and what is done then. */
  health: setting<HealthSetting>({
    says: "what follows if an agent stalls: tell, release or replace; and after how long, in ms",
    schema: healthSchema,
    initial: healthDefaults,
    variable: "KITE_HEALTH",
  }),
} satisfies SettingTable;

/** Returns the setting in a few words for people. */
export function healthText({ quietMs, stalledMs, stalled: then }: HealthSetting): string {
  return `quiet after ${quietMs} ms, stalled ${stalledMs} ms later: ${then}`;
}

// The settings of spawned agents.

const errorSpawns =
  'expected an object of lists of words, such as {"other": ["other-agent", "{prompt}"]}, with {prompt} in each';
const word = z.string({ error: errorSpawns }).max(limits.spawnWordBytes);
const words = z
  .array(word, { error: errorSpawns })
  .min(1, { error: errorSpawns })
  .max(limits.spawnWordsMax)
  .refine(all => all.some(one => one.includes("{prompt}")), { error: errorSpawns });

const spawnClientsSchema = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/), words, { error: errorSpawns })
  .refine(all => Object.keys(all).length <= limits.spawnClientsMax, {
    error: `expected at most ${limits.spawnClientsMax} clients`,
  });

function wholeNumber(min: number, max: number) {
  const errorSpawns = `expected a whole number from ${min} to ${max}`;
  return z
    .number({ error: errorSpawns })
    .int({ error: errorSpawns })
    .min(min, { error: errorSpawns })
    .max(max, { error: errorSpawns });
}

export const spawnSettings = {
  /** Spawned agents of one project that have not ended. */
  spawnMax: setting({
    says: "spawned agents of one project that have not ended",
    schema: wholeNumber(1, limits.spawnsLiveMax),
    initial: limits.spawnsLiveDefault,
    variable: "KITE_SPAWN_MAX",
  }),
  /** How deep agents may spawn agents; 1: a spawned agent spawns none. */
  spawnDepth: setting({
    says: "how deep agents may spawn agents; 1: a spawned agent spawns none",
    schema: wholeNumber(1, limits.spawnDepthMax),
    initial: limits.spawnDepthDefault,
    variable: "KITE_SPAWN_DEPTH",
  }),
  /** Clients that `kite spawn --client` starts, by name: the words of their commands. Only the user's own file may have it. */
  spawn: setting<z.output<typeof spawnClientsSchema>>({
    says: "commands of other agents' clients by name, as lists of words",
    schema: spawnClientsSchema,
    initial: {},
    variable: "KITE_SPAWN_CLIENTS",
  }),
} satisfies SettingTable;

// The setting `teams`.

export const teamSettings = {
  /** What the rules of a client's own teams do with a call that breaks one. A project may only make it stricter. */
  teams: setting<TeamMode>({
    says: "calls that break the rules of Claude Code's own teams: enforce, warn or off",
    schema: oneOf(teamModes),
    initial: "enforce",
    variable: "KITE_TEAMS",
    tighten: (user, project) => {
      if (project === user) return null;
      if (teamModes.indexOf(project) > teamModes.indexOf(user)) return { value: project };
      return { ignored: `teams ${project} is ignored: a project may only make it stricter (${user})` };
    },
  }),
} satisfies SettingTable;

// `trusted.json` of Kite's own directory: which projects' checks and gates a person has trusted, by the hash of their text.
// `kite check --trust` writes it. Trusted gates stay in force whatever becomes of the project's file. A text that was trusted before the latest one is not: else an agent could bring back weaker checks.

/** The text of a project's checks and gates that a person trusted. */
export interface TrustedText {
  readonly hash: string;
  /** Null: the file set none. */
  readonly gates: Gates | null;
  /** The checks, to show what changed since; null: there was no room for them. No program runs them. */
  readonly checks: readonly Check[] | null;
  /** As the checks: to show what changed; absent: it named none, or there was no room. */
  readonly setup?: string;
  /** Programs of the repository's own git configuration, by the names of their settings; absent: none. */
  readonly programs?: ReadonlyMap<string, string>;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** By the path of the project's file, below the project's real path. */
export type TrustedFiles = ReadonlyMap<string, TrustedText>;

/**
 * - `trusted`: a person trusted this very text.
 * - `changed`: a person trusted another text; that there are no checks or gates any more is a change, too.
 * - `untrusted`: no person has trusted the checks and gates.
 * - `none`: there are neither checks nor gates, and were none.
 */
export type Trust = "trusted" | "changed" | "untrusted" | "none";

/** Returns the path of the file that names a project's checks. */
export function projectFile(project: string): string {
  return project === "/" ? "/.kite/config.json" : `${project}/.kite/config.json`;
}

export function trustOf(trusted: TrustedFiles, file: string, parts: TrustedParts): Trust {
  const known = trusted.get(file);
  if (known !== undefined) return known.hash === trustHash(parts) ? "trusted" : "changed";
  return isNothing(parts) ? "none" : "untrusted";
}

/** Whether there is nothing to trust. */
export function isNothing({ checks, gates, setup = null }: TrustedParts): boolean {
  return checks.length === 0 && gates === null && setup === null;
}

/** Parses the file; null if Kite did not write it so. */
export function parseTrusted(text: string): TrustedFiles | null {
  const read = parsed(text);
  if (!isObject(read) || !isObject(read["files"])) return null;
  const files = new Map<string, TrustedText>();
  for (const [file, value] of Object.entries(read["files"])) {
    if (!isObject(value) || typeof value["hash"] !== "string" || typeof value["at"] !== "number") return null;
    const gates = value["gates"] === undefined ? null : gatesSchema.safeParse(value["gates"]);
    if (gates?.success === false) return null;
    const checks = value["checks"] === undefined ? null : checksIn(value["checks"], "", []);
    const setup = typeof value["setup"] === "string" ? { setup: value["setup"] } : {};
    files.set(file, {
      hash: value["hash"],
      at: value["at"],
      gates: gates?.data ?? null,
      checks,
      ...setup,
      ...programsIn(value["programs"]),
    });
  }
  return files;
}

/** Anything but a text is left out: what is not there is not trusted. */
function programsIn(value: unknown): Pick<TrustedText, "programs"> {
  if (!isObject(value)) return {};
  const all = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return { programs: new Map(all) };
}

/** Returns the hash that a person trusted by project; null if Kite did not write the text so. */
export function trustedIn(text: string): ReadonlyMap<string, string> | null {
  const files = text === "" ? new Map<string, TrustedText>() : parseTrusted(text);
  return files === null ? null : new Map([...files].map(([file, { hash }]) => [projectOf(file), hash]));
}

/** Returns the project of a file that names checks. */
function projectOf(file: string): string {
  return file.replace(/\/\.kite\/config\.json$/, "") || "/";
}

/** Returns the file's text; without the checks themselves if `isShort`. */
export function trustedText(files: TrustedFiles, isShort: boolean): string {
  const entries = [...files].map(([file, { hash, at, gates, checks, setup, programs }]) => {
    const named = (checks ?? []).map(({ name, command, when }) => [
      name,
      when === null ? { command } : { command, when },
    ]);
    const line = setup === undefined ? {} : { setup };
    const shown = isShort || checks === null ? {} : { checks: Object.fromEntries(named), ...line };
    const own = programs === undefined ? {} : { programs: Object.fromEntries(programs) };
    return [file, { hash, at, ...(gates === null ? {} : { gates }), ...own, ...shown }];
  });
  return `${JSON.stringify({ version: 1, files: Object.fromEntries(entries) }, null, 2)}\n`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports that Kite did not write the file so.
    return null;
  }
}

// Reads `trusted.json`.

export class TrustedReader {
  readonly #outside: BudgetedFs;
  readonly #path: string;
  #reading: { readonly until: number; readonly files: Promise<TrustedFiles | Unreachable> } | null = null;

  constructor(outside: BudgetedFs, path: string) {
    this.#outside = outside;
    this.#path = path;
  }

  /** Returns what is trusted, at most `limits.repositoryKeptMs` old. */
  files(): Promise<TrustedFiles | Unreachable> {
    const now = this.#outside.now();
    return this.#reading !== null && now < this.#reading.until ? this.#reading.files : this.fresh();
  }

  /** Returns what is trusted now. */
  fresh(): Promise<TrustedFiles | Unreachable> {
    const now = this.#outside.now();
    const files = this.#read();
    this.#reading = { until: now + limits.repositoryKeptMs, files };
    return files;
  }

  async #read(): Promise<TrustedFiles | Unreachable> {
    const outside = this.#outside;
    const how = { maybeElsewhere: true };
    const text = await outside.fact(budget =>
      outside.look(this.#path, null, budget, (prober, p) => prober.readSmall(p, limits.trustedBytes), how),
    );
    if (text !== null && typeof text !== "string") {
      // A failure is not cached: the next caller reads again.
      this.#reading = null;
      return text;
    }
    if (text === null) return new Map();
    return parseTrusted(text) ?? { unreachable: `${this.#path} is not as Kite writes it; remove it` };
  }
}
