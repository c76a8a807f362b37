/** The wire of spawned agents: requests, replies and rows. The daemon keeps the records; it starts no program. */
import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow } from "../schemas/lock.ts";
import { baseShape, idSchema, pathSchema } from "../schemas/session.ts";
import type { CameBackRow, HealthRow } from "./team.ts";

/** `waits_on_person`: its client asks a person. `done`, `failed` and `stopped` are final, unless the agent returns. */
export const spawnStates = [
  "starting",
  "running",
  "waits_on_person",
  "idle",
  "done",
  "failed",
  "stopped",
] as const;
export type SpawnState = (typeof spawnStates)[number];

/**
 * Where the agent's client runs. `background`: the client's own service. `tmux`: a window of its own, in which a person
 * can watch and talk.
 */
export type SpawnBackend = "background" | "tmux";

/** The actor; without `id` a person at a terminal. */
const actorShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
/** A word that can be a folder, a branch and a window. */
const wordSchema = z
  .string()
  .max(limits.spawnWordChars)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, { error: "expected letters, digits, - and _, the first no - or _" });
const refSchema = idSchema;
const refNameSchema = z.string().min(1).max(limits.pathBytes);

/**
 * Records an agent that the requester is about to start. Refused by `too_many_spawns`, `spawn_depth`,
 * `spawn_name_taken`, and for `task` as a claim by an agent with this role is.
 */
export const spawnCreateSchema = z.object({
  ...actorShape,
  /** Unique among the project's sessions and spawned agents that have not ended; by default the role and a number. */
  name: wordSchema.optional(),
  role: wordSchema.optional(),
  /** A person's word alone (`person_only`): it begins with the role of a lead. */
  lead: z.literal(true).optional(),
  /** A task by its id, prefix or last part; the agent claims it when it registers. */
  task: idSchema.optional(),
  backend: z.enum(["background", "tmux"]),
  /** The agent's client: `claude-code`, or a name of the user's configuration. */
  client: wordSchema,
  /** Whether its client reports the end of its session; else the end of the process is the agent's own. By default it does. */
  reportsEnd: z.boolean().optional(),
  /** What its branch begins from. */
  base: refNameSchema.optional(),
  /** What it is told to do, or the beginning of that, and its client's model: for an agent that takes its place. */
  prompt: z.string().max(limits.spawnPromptChars).optional(),
  model: z.string().min(1).max(limits.spawnModelChars).optional(),
  /** An agent that has ended, whose place it takes after `spawn_replace`: it has that one's parent and depth. */
  replaces: refSchema.optional(),
});

/**
 * Asks how to go on with an agent that stalled. The requester does it. With `resume` it stops the session and has its
 * client resume it. With `start` it stops the agent and records another one (`spawn_create` with `replaces`). Until it
 * has, others are refused (`spawn_state`), for at most 3 minutes. If it is stopped meanwhile (`spawn_update` with
 * `replacing:false`), the requester gives up. Then the row is no longer `replacing`, and is `stopping` if the resumed
 * client registers after that. Refused by `lead_only`, and by `too_many_spawns` if two agents in a row took the place
 * of a first one.
 */
const spawnReplaceSchema = z.object({
  ...actorShape,
  spawn: refSchema,
  /** Whether the agent's client can resume its session. */
  resumable: z.boolean(),
  /** False: the resume that the last reply asked for did not work. */
  resumed: z.literal(false).optional(),
});

/** Adds what became known of a spawned agent. Fields that are absent stay as they are. */
const spawnUpdateSchema = z.object({
  ...actorShape,
  spawn: refSchema,
  /** `failed`: it did not start. `stopped`: it was stopped. Every other state follows from what its session does. */
  state: z.enum(["failed", "stopped"]).optional(),
  /**
   * It is about to be stopped: the end of its session is no failure. If the agent has ended, a session that its client
   * begins again within 30 s is to be stopped, too, unless a person prompts it. False: it could not be stopped, or did
   * not return.
   */
  stopping: z.boolean().optional(),
  /** Nobody is to go on in its place: who is about to resume or replace it gives up. */
  replacing: z.literal(false).optional(),
  /** How its client, or tmux, names it. Restarts the time in which it has to register. */
  handle: refNameSchema.optional(),
  /** The process that is to begin its session: if it ends before, the agent has failed at once. */
  pid: z.number().int().positive().optional(),
  /** Restarts that time, too. */
  worktree: pathSchema.optional(),
  branch: refNameSchema.optional(),
  /** The end of what it printed. */
  output: z.string().max(limits.spawnOutputChars).optional(),
  /** What went wrong. */
  reason: z.string().min(1).max(limits.spawnReasonChars).optional(),
});

/** Forgets records of agents that have ended, all of them or none. */
const spawnRemoveSchema = z.object({
  ...actorShape,
  spawns: z.array(refSchema).min(1).max(limits.spawnsMax),
});

/** A spawned agent. Times are wall time in milliseconds. */
export interface SpawnRow {
  readonly id: string;
  readonly name: string;
  readonly role: string | null;
  readonly task: string | null;
  /** Null: a person at a terminal. */
  readonly parent: ActorRow | null;
  readonly project: string;
  /** Where it works; null before that is known. */
  readonly worktree: string | null;
  readonly branch: string | null;
  readonly base: string | null;
  readonly backend: SpawnBackend;
  readonly client: string;
  readonly handle: string | null;
  readonly state: SpawnState;
  /** Its session; null before it registered. */
  readonly session: string | null;
  /** Where its session works now, if that is another worktree than its own. */
  readonly worksIn: string | null;
  /** The result of its task, once that is done. */
  readonly result: string | null;
  readonly output: string | null;
  readonly reason: string | null;
  /** How often its session began. */
  readonly attempts: number;
  /** Its client's model; null: the client's own choice. */
  readonly model: string | null;
  /** How often it was resumed because it had stalled. */
  readonly resumes: number;
  /** How many agents before it had its place, the one whose place it took, and the one that took its place. */
  readonly replacements: number;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  /** Somebody is about to resume it, or to put another one in its place. */
  readonly replacing: boolean;
  /** Somebody stops it, or is to stop the client that resumed it after it had been stopped. */
  readonly stopping: boolean;
  /** Its process ended and its client did not end its session, so the client may bring it back. Absent: it does not. */
  readonly mayReturn?: true;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
  /** The health of its session, in rows of `query`; absent if it is not known. */
  readonly health?: HealthRow;
  /** A merge of its branch came back, or one that its session has to know of, and who has to read so has not. */
  readonly cameBack?: CameBackRow;
}

export interface SpawnReply {
  readonly ok: true;
  readonly spawn: SpawnRow;
}

export interface SpawnCreateReply extends SpawnReply {
  /** The user's setting for agents that stall; `replace`: who waits for this one replaces it then. */
  readonly stalled: StalledSetting;
}

/** What follows if an agent stalls: its lead is told; what it has is given back, too; or it is replaced, if Kite spawned it. */
export type StalledSetting = "tell" | "release" | "replace";

export interface SpawnReplaceReply extends SpawnReply {
  readonly next: "resume" | "start";
  /** What the agent was told to do, or the beginning of that; null: its task alone, or it is not known. */
  readonly prompt: string | null;
}

export interface SpawnRemoveReply {
  readonly ok: true;
  readonly removed: readonly string[];
}

/** The events of spawned agents. */
export type SpawnEvent = {
  /** A spawned agent is recorded, or changed its state. */
  readonly event: "spawn_changed";
  readonly spawn: string;
  readonly name: string;
  readonly project: string;
  readonly state: SpawnState;
  /** Null: it has not registered. */
  readonly session: string | null;
};

export interface SpawnColumn {
  /** Its record if it is a spawned agent, and the name of the agent that spawned it; null: a person. */
  readonly spawn?: { readonly id: string; readonly parent: string | null };
}

export const spawnRequests = {
  spawn_create: { params: spawnCreateSchema, reply: reply<SpawnCreateReply>(), traits: once },
  spawn_replace: { params: spawnReplaceSchema, reply: reply<SpawnReplaceReply>(), traits: once },
  spawn_update: { params: spawnUpdateSchema, reply: reply<SpawnReply>(), traits: once },
  spawn_remove: { params: spawnRemoveSchema, reply: reply<SpawnRemoveReply>(), traits: once },
} as const satisfies RequestTable;
