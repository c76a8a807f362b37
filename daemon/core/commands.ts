/**
 * The log's commands. An entry is a validated command with its proposer, its time and its sequence number.
 * Invariant: a command carries every fact of the outside world that it needs; the core reads none itself.
 */

import type { BranchCommands } from "./branches/table.ts";
import type { DeclarationCommands } from "./declarations/commands.ts";
import type { WriteCommands } from "./files/commands.ts";
import type { CheckRecord } from "./lead/checks/table.ts";
import type { DebateCommands } from "./lead/debates/commands.ts";
import type { HealthCommands } from "./lead/health/commands.ts";
import type { MergeCommands, MergeDues } from "./lead/merges/commands.ts";
import type { RoleCommands } from "./lead/roles/commands.ts";
import type { SpawnCommands, SpawnDues } from "./lead/spawns/commands.ts";
import type { TeamCommands } from "./lead/teams/commands.ts";
import type { LockCommands, LockDues } from "./locks/commands.ts";
import type { TalkCommands, TalkDues } from "./messages/commands.ts";
import type { NoteCommands } from "./messages/notice-commands.ts";
import type { NodeCommands, NodeDues } from "./nodes/commands.ts";
import type { Origin, Retry } from "./origin.ts";
import type { OutboxCommands } from "./outbox/commands.ts";
import type { SessionCommands, SessionDues } from "./sessions/commands.ts";
import type { StashesNoted } from "./stashes/table.ts";
import type { TaskCommands } from "./tasks/commands.ts";

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

export interface DaemonStarted {
  readonly epoch: number;
  readonly storeId: string;
}

/** The refusal sent to `to` reached no client, so a retry does not get it. */
export interface ReplyUnheard {
  readonly to: Origin;
  readonly kept: Retry;
}

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
  extends SessionCommands,
    LockCommands,
    WriteCommands,
    TaskCommands,
    DeclarationCommands,
    BranchCommands,
    TalkCommands,
    NoteCommands,
    DebateCommands,
    RoleCommands,
    HealthCommands,
    SpawnCommands,
    TeamCommands,
    MergeCommands,
    NodeCommands,
    OutboxCommands {
  daemon_started: DaemonStarted;
  reply_unheard: ReplyUnheard;
  check_record: CheckRecord;
  stashes_noted: StashesNoted;
  elapse: Elapse;
  rules: Rules;
  void: Void;
}

/** What every timer says besides its name. */
export interface Dues extends LockDues, SessionDues, TalkDues, SpawnDues, MergeDues, NodeDues {}

export type DueName = keyof Dues;
export type DueOf<W extends DueName> = { [K in W]: { readonly what: K } & Dues[K] }[W];
/** A timer that expired, by name. The core refuses it if it no longer fits the state. */
export type Due = DueOf<DueName>;

export type CommandType = keyof Commands;
/** The command named `T`. A union of names gives one union type, so that code can index the table of handlers. */
export type CommandOf<T extends CommandType> = { [K in T]: { readonly type: K } & Commands[K] }[T];
export type Command = CommandOf<CommandType>;
