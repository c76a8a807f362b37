/**
 * The log's commands. An entry is a validated command with its proposer, its time and its sequence number.
 * Invariant: a command carries every fact of the outside world that it needs; the core reads none itself.
 */

import type { Risk } from "../../protocol/risk.ts";
import type { TaskPriority, TaskStatus } from "../../protocol/task.ts";
import type { Actor, Anchor } from "./actor.ts";
import type { DeclarationCommands } from "./declarations/commands.ts";
import type { FileName, FileRef } from "./file-ref.ts";
import type { WriteCommands, WriteNote } from "./files/commands.ts";
import type { CheckRecord } from "./lead/checks/table.ts";
import type { DebateCommands } from "./lead/debates/commands.ts";
import type { HealthCommands } from "./lead/health/commands.ts";
import type { MergeCommands } from "./lead/merges/commands.ts";
import type { RoleCommands } from "./lead/roles/commands.ts";
import type { SpawnCommands } from "./lead/spawns/commands.ts";
import type { TalkCommands } from "./messages/commands.ts";
import type { NoteCommands } from "./messages/notice-commands.ts";
import type { Bound, Origin, Retry } from "./origin.ts";
import type { NameSource } from "./sessions/name-source.ts";
import type { StashesNoted } from "./stashes/table.ts";
import type { Task } from "./tasks/table.ts";

/** A command before the log ordered it. `at` is the proposer's clock, in milliseconds. */
export interface Proposal {
  readonly origin: Origin;
  readonly at: number;
  readonly command: Command;
}

/** A proposal with its place in the log: `seq` is contiguous and begins with 1. */
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
  /** Who chose `name`; absent: the client, for good. */
  readonly named?: NameSource;
  /** Whether an id that ended within the last hour may begin again. */
  readonly revive: boolean;
  /** The record of the spawned agent that this session is, as its process says. */
  readonly spawn?: string;
  /** Wall time, to be shown to people. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Gives a session a name that only a person replaces. */
export interface SessionRename {
  /** Null: a person. */
  readonly by: Actor | null;
  /** Which, as recipients are named, in this project. */
  readonly of: string;
  readonly name: string;
  readonly project: string;
  readonly retry?: Retry;
}

/** Ends one incarnation, or with `incarnation: null` the whole session. */
export interface SessionEnd {
  readonly session: string;
  readonly incarnation: number | null;
  /** `begun` of the incarnation meant, so that the command does not end a later one of the same ordinal. */
  readonly begun?: number;
  readonly cause: "deregistered" | "ended" | "anchor_gone";
  readonly retry?: Retry;
}

/** A session without anchor sent no sign of life for `limits.silenceMs`. */
export interface SessionLost {
  readonly session: string;
  /** `begun` of the session meant, so that the command does not touch a later one of the same id. */
  readonly begun: number;
}

/** A lost session sent a sign of life. */
export interface SessionFound {
  readonly session: string;
}

export interface LockRequest {
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  /** Whether the request named one `file`, not `files`. */
  readonly single: boolean;
  readonly kind: LockKind;
  readonly waitMs: number;
  readonly depth: number;
  /** How long the queue position outlives the time-out, in milliseconds; 0: it ends at once. */
  readonly placeMs: number;
  /** Whether the queue position also outlives the connection, for `limits.placeMs`. */
  readonly detach: boolean;
  readonly progress: boolean;
  /** The prompt that a turn lock belongs to. */
  readonly prompt: string | null;
  /** The tool use that will write after the grant; its write is in flight until its end is seen. */
  readonly flight: string | null;
  /** A turn lock untouched for this long, in milliseconds, yields to a waiter. */
  readonly yieldMs: number;
  /** Agents of the same session whose locks pass to this actor; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly bound: Bound | null;
  /** Project and directory of a session id that is not registered yet. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** The connection of a waiter closed. `kept`: the retry under which a reply sent to that connection is kept. */
export interface LockDetach {
  readonly waiter: Origin;
  readonly kept?: Retry;
}

/**
 * The answer to a grant was not delivered: `waiter` is its origin, `keys` are the keys of its files, `kept` is as in
 * `LockDetach`.
 */
export interface LockUndelivered {
  readonly waiter: Origin;
  readonly actor: Actor;
  readonly keys: readonly string[];
  readonly kept?: Retry;
}

/** The refusal sent to `to` reached no client, so a retry does not get it. */
export interface ReplyUnheard {
  readonly to: Origin;
  readonly kept: Retry;
}

export interface LockRelease {
  readonly actor: Actor;
  readonly files: readonly FileName[] | "all";
  readonly retry?: Retry;
}

/** Takes locks from their holders by force; an event tells each holder and names `by`. */
export interface LockRevoke {
  readonly by: string;
  readonly files: readonly FileName[];
  readonly retry?: Retry;
}

/** A connection with bound locks closed. */
export interface LockUnbind {
  readonly bound: Bound;
}

/** Releases the actor's turn locks, except those of `keepPrompt`. */
export interface TurnEnd {
  readonly actor: Actor;
  readonly keepPrompt: string | null;
  /** The turn ended then (core time), and nobody heard of it: what began later stays. Absent: it ends now. */
  readonly untilMs?: number;
}

/** A write in flight ended, or with `flight: null` all of the actor's did. */
export interface FlightEnd {
  readonly actor: Actor;
  readonly flight: string | null;
  /** Whether the tool wrote the file. */
  readonly wrote: boolean;
  /** The file that was written, if it is in a repository. */
  readonly noted?: WriteNote;
}

/** A permission dialog opened for the actor's write in flight, which renews its lease once. */
export interface LeaseRenew {
  readonly actor: Actor;
}

/** What the actor's client shows of its writes in flight that this start did not see begin: see `locks/unseen.ts`. */
export interface FlightUnseen {
  readonly actor: Actor;
  readonly now: "waits" | "runs" | "over";
}

/** Suspends the session: its process may go on under another id and then inherits its explicit locks and tasks. */
export interface SessionSuspend {
  readonly session: string;
}

/** A task to create. `dependsOn`: ids, prefixes of ids, or names of other tasks in the same command. */
export interface NewTask {
  readonly name: string | null;
  readonly description: string;
  readonly priority: TaskPriority;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** A debate's id or a part of one. */
  readonly debate?: string;
  /** Absent: green. */
  readonly risk?: Risk;
}

/** Creates all of these tasks, or none. */
export interface TaskCreate {
  readonly by: Actor | null;
  readonly tasks: readonly NewTask[];
  /** Whether the request had a list of tasks; its reply then has one too. */
  readonly many: boolean;
  readonly project: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/**
 * Imports tasks of another store under their own ids; a task whose id exists already stays as it is. `debate` is an id;
 * one that is not in the task's project is dropped.
 */
export interface TaskImport {
  readonly by: Actor | null;
  readonly tasks: readonly Omit<Task, "n" | "createdBy">[];
  readonly retry?: Retry;
}

/** Changes a task; a null field stays as it is, and an absent one. `debate`: null: none. */
export interface TaskUpdate {
  readonly by: Actor | null;
  readonly task: string;
  readonly status: TaskStatus | null;
  readonly result: string | null;
  readonly dependsOn: readonly string[] | null;
  readonly description: string | null;
  readonly priority: TaskPriority | null;
  readonly labels: readonly string[] | null;
  readonly debate?: string | null;
  readonly risk?: Risk | null;
  /** Where an unregistered session would begin; the project's short names of tasks count. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Claims a task. `task: null`: the first ready task of the project, by priority and age, that has all `labels`. */
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
  /** The project whose short names count, as in all these commands; absent: whole ids alone. */
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface TaskRemove {
  readonly by: Actor | null;
  readonly tasks: readonly string[];
  readonly project?: string;
  readonly retry?: Retry;
}

/** A person says yes to the next run of a red or critical task. */
export interface TaskApprove {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  readonly task: string;
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** A timer that expired, by name. The core refuses it if it no longer fits the state. */
export type Due =
  | { readonly what: "wait_over"; readonly ticket: number }
  | { readonly what: "place_over"; readonly ticket: number }
  | { readonly what: "turn_lease_over"; readonly key: string; readonly first: number }
  | { readonly what: "yield_over"; readonly key: string; readonly first: number }
  | { readonly what: "unseen_over"; readonly key: string; readonly first: number }
  | { readonly what: "bound_over"; readonly key: string; readonly first: number }
  /** A step left free waiters ungranted: `limits.grantsPerStepMax`. */
  | { readonly what: "grants_left" }
  | {
      readonly what: "context_over";
      readonly project: string;
      readonly key: string;
      readonly version: number;
    }
  | { readonly what: "merge_runner_over"; readonly merge: string }
  | { readonly what: "edit_hold_over"; readonly hold: string }
  | { readonly what: "spawn_over"; readonly spawn: string }
  | { readonly what: "suspend_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_turns_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_leases_over"; readonly session: string; readonly begun: number }
  | { readonly what: "lost_over"; readonly session: string; readonly begun: number };

export interface Elapse {
  readonly due: Due;
}

/** Sets the level of rules for the entries after this one. */
export interface Rules {
  readonly level: number;
}

/** The entry at `seq` threw; a replay skips it. */
export interface Void {
  readonly seq: number;
}

/** Every command, by name. */
export interface Commands
  extends TalkCommands,
    DebateCommands,
    NoteCommands,
    DeclarationCommands,
    SpawnCommands,
    MergeCommands,
    RoleCommands,
    HealthCommands,
    WriteCommands {
  daemon_started: DaemonStarted;
  session_begin: SessionBegin;
  session_rename: SessionRename;
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
  lease_renew: LeaseRenew;
  flight_unseen: FlightUnseen;
  session_suspend: SessionSuspend;
  task_create: TaskCreate;
  task_import: TaskImport;
  task_update: TaskUpdate;
  task_claim: TaskClaim;
  task_release: TaskRelease;
  task_remove: TaskRemove;
  task_approve: TaskApprove;
  check_record: CheckRecord;
  stashes_noted: StashesNoted;
  elapse: Elapse;
  rules: Rules;
  void: Void;
}

export type CommandType = keyof Commands;
/** The command named `T`. A union of names gives one union type, so that code can index the table of handlers. */
export type CommandOf<T extends CommandType> = { [K in T]: { readonly type: K } & Commands[K] }[T];
export type Command = CommandOf<CommandType>;
