/** The base's own settings. */
import * as z from "zod";
import { clientWaitsMaxMs } from "../../protocol/client-waits.ts";
import { limits } from "../../protocol/limits.ts";
import { globProblem } from "./glob.ts";
import { oneOf, type SettingTable, setting } from "./setting.ts";

const weekMs = 7 * 24 * 3_600_000;
/** The answer has to arrive before the hook gives up and lets the tool run. */
const longestWaitMs = Math.max(...Object.values(clientWaitsMaxMs));

function milliseconds(min: number, max: number, because = "") {
  const error = `expected a whole number of milliseconds from ${min} to ${max}${because}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** How long edits of a client's agents wait for a lock, in ms, by the client's name. */
export type ClientWaits = Readonly<Record<string, number | undefined>>;

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

export const globSchema = z
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
