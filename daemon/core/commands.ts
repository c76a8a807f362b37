/**
 * What the log holds. An entry is a validated command, who proposed it, its time, and its place.
 * Commands carry every fact of the outside world they need: the core looks nothing up.
 */

import type { TaskPriority, TaskStatus } from "../../protocol/task.ts";
import type { Actor, Anchor } from "./actor.ts";
import type { FileName, FileRef, Written } from "./file-ref.ts";
import type { TalkCommands } from "./messages/commands.ts";
import type { NoteCommands } from "./messages/notice-commands.ts";
import type { Bound, Origin, Retry } from "./origin.ts";
import type { Task } from "./tasks/table.ts";

/** A proposal before the log gave it a place. `at` is the proposer's clock, in milliseconds. */
export interface Proposal {
  readonly origin: Origin;
  readonly at: number;
  readonly command: Command;
}

/** `seq` is contiguous, beginning with 1. */
export interface Entry extends Proposal {
  readonly seq: number;
}

export type LockKind = "explicit" | "turn";

export interface DaemonStarted {
  readonly epoch: number;
  readonly storeId: string;
}

export interface SessionBegin {
  readonly session: string;
  readonly anchor: Anchor | null;
  readonly cwd: string;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly name: string | null;
  /** An id that ended within the last hour may begin again. */
  readonly revive: boolean;
  /** Wall time, to be shown to people. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Ends one incarnation, or with `incarnation: null` the whole session. */
export interface SessionEnd {
  readonly session: string;
  readonly incarnation: number | null;
  /** `begun` of the incarnation meant, where a later one of the same ordinal must not be hit. */
  readonly begun?: number;
  readonly cause: "deregistered" | "ended" | "anchor_gone";
  readonly retry?: Retry;
}

/** Silence: proposed for a session without anchor. */
export interface SessionLost {
  readonly session: string;
  /** `begun` of the session meant; another one is not touched. */
  readonly begun: number;
}

/** A sign of life of a lost session. */
export interface SessionFound {
  readonly session: string;
}

export interface LockRequest {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** The request named one `file`, not `files`. */
  readonly single: boolean;
  readonly kind: LockKind;
  readonly waitMs: number;
  readonly depth: number;
  /** The place in line outlives the time-out by this; 0: it goes at once. */
  readonly placeMs: number;
  /** The place outlives the connection as well, for `limits.placeMs`. */
  readonly detach: boolean;
  readonly progress: boolean;
  /** The prompt a turn hold belongs to. */
  readonly prompt: string | null;
  /** The tool use that will write once this is granted: in flight until its end is seen. */
  readonly flight: string | null;
  /** A turn hold untouched this long yields to who waits. */
  readonly yieldMs: number;
  /** Agents of the same session whose holds pass to this one; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly bound: Bound | null;
  /** Project and directory for a session that nobody registered. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** The connection of a waiting request closed. `kept`: by which a retry would find what was answered there. */
export interface LockDetach {
  readonly waiter: Origin;
  readonly kept?: Retry;
}

/**
 * A grant found nobody to hand it to: `waiter` is where it should have gone, `keys` are those of its files, `kept` is as
 * of `LockDetach`.
 */
export interface LockUndelivered {
  readonly waiter: Origin;
  readonly actor: Actor;
  readonly keys: readonly string[];
  readonly kept?: Retry;
}

/** The refusal that was answered to `to` reached no client: a retry does not get it. */
export interface ReplyUnheard {
  readonly to: Origin;
  readonly kept: Retry;
}

export interface LockRelease {
  readonly actor: Actor;
  readonly files: readonly FileName[] | "all";
  readonly retry?: Retry;
}

/** Whoever holds these: recorded, the holders told. */
export interface LockRevoke {
  readonly by: string;
  readonly files: readonly FileName[];
  readonly retry?: Retry;
}

/** A connection with bound locks closed. */
export interface LockUnbind {
  readonly bound: Bound;
}

/** Frees the actor's turn holds, except those of `keepPrompt`. */
export interface TurnEnd {
  readonly actor: Actor;
  readonly keepPrompt: string | null;
}

/** A write ended, or with `flight: null` all of the actor's. */
export interface FlightEnd {
  readonly actor: Actor;
  readonly flight: string | null;
  /** The file was written. */
  readonly wrote: boolean;
  /** Where it was written, in a repository. */
  readonly noted?: WriteNote;
}

export interface WriteNote {
  readonly files: readonly Written[];
  /** By a tool whose hook told so, or by a shell command, as was seen afterwards. */
  readonly by: "edit" | "shell";
  /** Agents of the same session that the writer works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly wallMs: number;
}

/** A shell command of the actor's ended, and these files changed while it ran. */
export interface WritesNoted {
  readonly actor: Actor;
  readonly noted: WriteNote;
}

/** Git says that nothing uncommitted is left in these; `seq` is the latest write known when it was asked. */
export interface WritesSettled {
  readonly settled: readonly { readonly key: string; readonly seq: number }[];
}

/** A person is asked whether the actor's write may go on: its lease begins anew, once. */
export interface LeaseRenew {
  readonly actor: Actor;
}

/** The session ends, but its process may go on under another id: what it keeps waits for that. */
export interface SessionSuspend {
  readonly session: string;
}

/** A task to be created. `dependsOn`: ids, beginnings of ids, or names of others of the same command. */
export interface NewTask {
  readonly name: string | null;
  readonly description: string;
  readonly priority: TaskPriority;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
}

/** All of them, or none. */
export interface TaskCreate {
  readonly by: Actor | null;
  readonly tasks: readonly NewTask[];
  /** The request named several, and is answered so. */
  readonly many: boolean;
  readonly project: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Tasks of another store, under their own ids; those that are here stay as they are. */
export interface TaskImport {
  readonly by: Actor | null;
  readonly tasks: readonly Omit<Task, "n" | "createdBy">[];
  readonly retry?: Retry;
}

/** Null: as it is. */
export interface TaskUpdate {
  readonly by: Actor | null;
  readonly task: string;
  readonly status: TaskStatus | null;
  readonly result: string | null;
  readonly dependsOn: readonly string[] | null;
  readonly description: string | null;
  readonly priority: TaskPriority | null;
  readonly labels: readonly string[] | null;
  /** Project and directory for a session that nobody registered. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** `task: null`: the best that is ready in the project, with all labels. */
export interface TaskClaim {
  readonly actor: Actor;
  readonly task: string | null;
  readonly labels: readonly string[];
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface TaskRelease {
  readonly by: Actor | null;
  readonly task: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface TaskRemove {
  readonly by: Actor | null;
  readonly tasks: readonly string[];
  readonly retry?: Retry;
}

/** What is due, by name; the core compares and refuses what no longer fits. */
export type Due =
  | { readonly what: "wait_over"; readonly ticket: number }
  | { readonly what: "place_over"; readonly ticket: number }
  | { readonly what: "turn_lease_over"; readonly key: string; readonly first: number }
  | { readonly what: "yield_over"; readonly key: string; readonly first: number }
  | { readonly what: "bound_over"; readonly key: string; readonly first: number }
  /** Not all that was free could be granted in one step. */
  | { readonly what: "grants_left" }
  | {
      readonly what: "context_over";
      readonly project: string;
      readonly key: string;
      readonly version: number;
    }
  | { readonly what: "edit_hold_over"; readonly hold: string }
  | { readonly what: "suspend_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_turns_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_leases_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_over"; readonly session: string; readonly begun: number };

export interface Elapse {
  readonly due: Due;
}

/** From here on entries are applied under this level. */
export interface Rules {
  readonly level: number;
}

/** The entry at `seq` threw; a replay skips it. */
export interface Void {
  readonly seq: number;
}

/** Every command, by name. */
export interface Commands extends TalkCommands, NoteCommands {
  daemon_started: DaemonStarted;
  session_begin: SessionBegin;
  session_end: SessionEnd;
  session_lost: SessionLost;
  session_found: SessionFound;
  lock_request: LockRequest;
  lock_detach: LockDetach;
  lock_undelivered: LockUndelivered;
  reply_unheard: ReplyUnheard;
  lock_release: LockRelease;
  lock_revoke: LockRevoke;
  lock_unbind: LockUnbind;
  turn_end: TurnEnd;
  flight_end: FlightEnd;
  writes_noted: WritesNoted;
  writes_settled: WritesSettled;
  lease_renew: LeaseRenew;
  session_suspend: SessionSuspend;
  task_create: TaskCreate;
  task_import: TaskImport;
  task_update: TaskUpdate;
  task_claim: TaskClaim;
  task_release: TaskRelease;
  task_remove: TaskRemove;
  elapse: Elapse;
  rules: Rules;
  void: Void;
}

export type CommandType = keyof Commands;
/** The command named `T`; with a union of names it stays one union, so that a table of handlers can be indexed. */
export type CommandOf<T extends CommandType> = { [K in T]: { readonly type: K } & Commands[K] }[T];
export type Command = CommandOf<CommandType>;
