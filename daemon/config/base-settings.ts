/** The base's own settings. */

import * as z from "zod";
import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import { limits } from "../../protocol/limits.ts";
import { readStoreAddress } from "../store/address.ts";
import { isProjectName } from "../store/shared-project.ts";
import { globProblem } from "./glob.ts";

// What a feature says of each of its settings: a table of these rows; `settings.ts` lists the tables.

export interface Setting<V = unknown> {
  /** The form and the bounds of a value. */
  readonly schema: z.ZodType<V>;
  readonly initial: NoInfer<V>;
  /** What it is, for people: half a sentence. */
  readonly says: string;
  /** A running daemon goes on with the value that it began with. */
  readonly fixed?: true;
  /** The variable that overrides the user's file; null: none does. */
  readonly variable: string | null;
  /** Says where the setting is set, if no variable has it. */
  readonly elsewhere?: string;
  /**
   * Returns what a project's file makes of the user's value: another value, a sentence why it is ignored, or nothing if it
   * says the same. Without it a project may not have the setting.
   */
  tighten?(user: V, project: V): { readonly value: V } | { readonly ignored: string } | null;
}

export type SettingTable = Readonly<Record<string, Setting>>;

/** A part of a project's file that is no setting of the user. It reads its own form, and adds a sentence for each problem. */
export interface Section<V = unknown> {
  read(value: unknown, path: string, problems: string[]): V;
  /** Of the part in a user's file: where it belongs. */
  readonly elsewhere: string;
}

/** Returns the form of a text that is one of these. */
export function oneOf<const T extends string>(values: readonly [T, ...T[]]): z.ZodType<T> {
  return z.enum(values, { error: `expected ${inWords(values)}` });
}

/** `a, b or c`. */
function inWords(values: readonly string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

/** Keeps the type of a setting's values. */
export function setting<V>(one: Setting<V>): Setting<V> {
  return one;
}

const weekMs = 7 * 24 * 3_600_000;
/** The answer has to arrive before the hook gives up and lets the tool run. */
const longestWaitMs = Math.max(...Object.values(clientWaitsMaxMs));

function milliseconds(min: number, max: number, because = "") {
  const error = `expected a whole number of milliseconds from ${min} to ${max}${because}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** How long edits of a client's agents wait for a lock, in ms, by the client's name. */
type ClientWaits = Readonly<Record<string, number | undefined>>;

const waitsForm = Object.entries(clientWaitsMaxMs)
  .map(([client, maxMs]) => `${client} up to ${maxMs}`)
  .join(", ");
const clientWaitsError = `expected an object of whole milliseconds from 1, such as {"copilot": 5000}: ${waitsForm}`;

const clientWaitsSchema: z.ZodType<ClientWaits> = z
  .strictObject(
    Object.fromEntries(
      Object.entries(clientWaitsMaxMs).map(([client, maxMs]) => [
        client,
        milliseconds(1, maxMs, ` for ${client} (its hook gives up after that)`),
      ]),
    ),
    // What is not known is named by who reads the settings.
    { error: ({ code }) => (code === "unrecognized_keys" ? undefined : clientWaitsError) },
  )
  .partial();

const globSchema = z
  .string()
  .min(1)
  .max(limits.globBytes)
  .refine(text => globProblem(text) === null, { error: ({ input }) => globProblem(String(input)) ?? "" });

export const modeSettings = {
  /** Whether Kite acts on what it finds, or only records what it would do. Of the user alone: a project changes nothing of it. */
  mode: setting<"act" | "observe">({
    says: "act: edits wait, and agents are refused and told; observe: Kite only records what it would do",
    schema: oneOf(["act", "observe"]),
    initial: "act",
    variable: "KITE_MODE",
  }),
} satisfies SettingTable;

export const lockSettings = {
  /** How long a hook waits for a lock, in ms; longer than the shortest `yieldMs`. A project may only lower it. */
  lockWaitMs: setting({
    says: "how long an edit waits for a lock, in ms",
    schema: milliseconds(2, longestWaitMs, " (the hook gives up after that and lets the tool run)"),
    initial: limits.hookWaitMs,
    variable: "KITE_LOCK_WAIT_MS",
    tighten: (user, wait) => {
      if (wait === user) return null;
      if (wait < user) return { value: wait };
      return { ignored: `lockWaitMs ${wait} is ignored: a project may only lower it (${user})` };
    },
  }),
  /** The same for the agents of single clients, by the client's name. A project that lowers `lockWaitMs` lowers these, too. */
  clientLockWaitMs: setting<ClientWaits>({
    says: 'the same for single clients by name, such as {"copilot": 5000}',
    schema: clientWaitsSchema,
    initial: {},
    variable: "KITE_CLIENT_LOCK_WAIT_MS",
  }),
  /** A turn lock untouched for this long, in ms, yields to a waiter. */
  yieldMs: setting({
    says: "unused for this long, an edit lock passes on to who waits, in ms",
    schema: milliseconds(1, longestWaitMs),
    initial: limits.yieldMs,
    variable: "KITE_YIELD_MS",
  }),
  /** The daemon ends itself this long after the last session, in ms; 0: never. */
  idleExitMs: setting({
    says: "the daemon ends this long after its last session, in ms; 0: never",
    schema: milliseconds(0, weekMs),
    initial: limits.idleExitMs,
    variable: "KITE_IDLE_EXIT_MS",
  }),
  logLevel: setting({
    says: "level of the daemon's own log",
    schema: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    initial: "info",
    variable: "KITE_LOG_LEVEL",
  }),
  /** The answer to a git command that would wipe another actor's uncommitted work. */
  treeGuard: setting({
    says: "shell commands that would wipe others' uncommitted work: deny, warn or off",
    schema: oneOf(["deny", "warn", "off"]),
    initial: "deny",
    variable: "KITE_TREE_GUARD",
  }),
  /** How long a turn lock resists a waiter: until it is untouched for `yieldMs`, or while an edit writes the file. */
  keepLockUntil: setting({
    says: "turn: an edit lock lasts until the agent has answered; edit: only while an edit writes the file",
    schema: oneOf(["turn", "edit"]),
    initial: "turn",
    variable: "KITE_KEEP_LOCK_UNTIL",
    tighten: (user, project) => (project === user ? null : { value: project }),
  }),
} satisfies SettingTable;

export const ignoreSettings = {
  /** Globs of files that hooks do not lock; a project adds its own. */
  ignore: setting<readonly string[]>({
    says: "globs of files that need no lock; in the variable separated by :",
    schema: z
      .array(globSchema, { error: 'expected a list of globs, such as ["*.lock", "gen/"]' })
      .max(limits.filesMax),
    initial: [],
    variable: "KITE_IGNORE",
    tighten: (user, project) =>
      project.length === 0 ? null : { value: [...new Set([...user, ...project])] },
  }),
} satisfies SettingTable;

// The setting `notify`: what `kite notify` runs, and after how long. Only the user's own file may have it.

const dayMs = 24 * 3_600_000;
const example = 'expected an object, such as {"command": ["notify-send"], "waitMs": 60000}';
const error = `${example}, with times in whole milliseconds from 1000 to ${dayMs}`;
const afterMs = z.number({ error }).int({ error }).min(1_000, { error }).max(dayMs, { error });

const notifySchema = z
  .strictObject(
    {
      /** The words of a program; title and text follow as two more. None: the notifier of the desktop. */
      command: z
        .array(z.string().max(limits.spawnWordBytes), { error })
        .min(1, { error })
        .max(limits.spawnWordsMax, { error }),
      /** Whether the daemon's start begins `kite notify`, and its end ends it. */
      start: z.boolean({ error }),
      /** How long somebody has to need a person, in ms. */
      personMs: afterMs,
      /** How long a wait for a lock has to last, in ms. */
      waitMs: afterMs,
    },
    { error },
  )
  .partial();

export interface NotifySetting {
  readonly command?: readonly string[] | undefined;
  readonly start?: boolean | undefined;
  readonly personMs?: number | undefined;
  readonly waitMs?: number | undefined;
}

/** The times of a setting that names none. */
export const notifyDefaults = { personMs: 60_000, waitMs: 60_000 } as const;

export const notifySettings = {
  /** What `kite notify` runs, whether it starts with the daemon, and after how long it tells. */
  notify: setting<NotifySetting>({
    says: "what kite notify runs, whether it starts with the daemon, and after how long it tells, in ms",
    schema: notifySchema,
    initial: {},
    variable: "KITE_NOTIFY",
  }),
} satisfies SettingTable;

// The setting `titles`: what a person's screen says of what a session is about. Only the user's own file may have it.

export const titleSettings = {
  /** `prompt`: words of the latest prompt in place of the client's title. */
  titles: setting<"client" | "prompt" | "off">({
    says: "what your own screen shows a session to be about: its client's title, its latest prompt, or off for nothing",
    schema: oneOf(["client", "prompt", "off"]),
    initial: "client",
    variable: "KITE_TITLES",
  }),
} satisfies SettingTable;

// The settings of the shared store. They are the user's alone: no variable and no project's file has them.

/** Returns what is wrong with an address, or null. */
function problemOf(text: string): string | null {
  const found = text === "" ? null : readStoreAddress(text);
  return found !== null && "ok" in found ? found.error : null;
}

export const storeSettings = {
  /** Address of the store that several machines share; "": there is none. Never with a password in it. */
  store: setting<string>({
    says: "address of a PostgreSQL that several machines share; kite store join sets it",
    schema: z
      .string({ error: "expected an address as a text, such as postgresql://kite@db.example/kite" })
      .refine(text => problemOf(text) === null, { error: ({ input }) => problemOf(String(input)) ?? "" }),
    initial: "",
    fixed: true,
    variable: null,
    elsewhere: "a store is set for all your projects: kite store join writes it into your own config.json",
  }),
  /** After how long a silence of this machine its agents' claims in the store are free for others, in ms. */
  storeGoneMs: setting<number>({
    says: "silent for this long, this machine loses its agents' claims in the store, in ms",
    schema: milliseconds(10_000, 30 * dayMs),
    initial: limits.storeGoneMs,
    fixed: true,
    variable: null,
    elsewhere: "each machine has its own, for all your projects: write it into your own config.json",
  }),
};

// The key `project` of a project's file: the name by which machines that share a store know the project. On one machine it does
// nothing. Any agent may write the file, so the name is bounded, on one line, and shown as it is.

const project: Section<string | null> = {
  read(value, path, problems) {
    if (value === undefined) return null;
    if (typeof value === "string" && isProjectName(value.normalize("NFC"))) return value.normalize("NFC");
    problems.push(
      `${path}: project is ignored: expected a name on one line of at most ${limits.sharedProjectChars} characters, ` +
        'like "team/shop", without blanks around it, control characters, < and >',
    );
    return null;
  },
  elsewhere: "project is the name of one project: write it into that project's .kite/config.json",
};

export const nameSections = { project };

// The settings of what Kite keeps of the agents' work.

export const rescueSettings = {
  /** Whether Kite keeps versions of the files that agents write. A project may only switch it off. */
  rescue: setting<"on" | "off">({
    fixed: true,
    says: "keep versions of the files that agents write, so that no work is lost: on or off",
    schema: oneOf(["on", "off"]),
    initial: "on",
    variable: "KITE_RESCUE",
    tighten: (user, project) => {
      if (project === user) return null;
      if (project === "off") return { value: project };
      return { ignored: "rescue on is ignored: a project may only switch it off" };
    },
  }),
  /** Globs of files that are never kept, besides those that Kite knows as secret. */
  rescueNever: setting<readonly string[]>({
    fixed: true,
    says: "globs of further files of which no version is kept; in the variable separated by :",
    schema: z
      .array(globSchema, { error: 'expected a list of globs, such as ["*.sqlite", "private/"]' })
      .max(limits.rescueNeverMax),
    initial: [],
    variable: "KITE_RESCUE_NEVER",
  }),
} satisfies SettingTable;
