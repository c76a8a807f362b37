/** The effects of an entry: replies, events, timers. Invariant: a step never changes the state. */

import type { Refusal } from "../../../protocol/codes.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import type { Risk } from "../../../protocol/names.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor, Origin, Retry } from "../frame/actors.ts";
import type { Declaration, DeclarationCommands } from "./declarations.ts";
import type { HeadMoved } from "./heads.ts";
import type { LockCommands, LockDues, LockRequest } from "./locks.ts";
import type { NoteCommands, TalkCommands, TalkDues, Whose } from "./messages.ts";
import type { PartRow } from "./parts.ts";
import type { Session, SessionCommands, SessionDues } from "./sessions.ts";
import type { Task, TaskCommands } from "./tasks.ts";
import type { CommitsMade, CommitsTaken, StashesNoted, WriteCommands } from "./uncommitted.ts";

// The log's commands. An entry is a validated command with its proposer, its time and its sequence number.
// Invariant: a command carries every fact of the outside world that it needs; the core reads none itself.

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

interface DaemonStarted {
  readonly epoch: number;
  readonly storeId: string;
}

/** The refusal sent to `to` reached no client, so a retry does not get it. */
interface ReplyUnheard {
  readonly to: Origin;
  readonly kept: Retry;
}

interface Elapse {
  readonly due: Due;
}

/** Sets the level of rules for the entries after this one. */
interface Rules {
  readonly level: number;
}

/** The entry at `seq` threw; a replay skips it. */
interface Void {
  readonly seq: number;
}

/** Every command, by name. Each slice of the leading half declares its own in its table (`declare module`). */
export interface Commands
  extends SessionCommands,
    LockCommands,
    WriteCommands,
    TaskCommands,
    DeclarationCommands,
    TalkCommands,
    NoteCommands {
  daemon_started: DaemonStarted;
  reply_unheard: ReplyUnheard;
  stashes_noted: StashesNoted;
  commits_made: CommitsMade;
  commits_taken: CommitsTaken;
  head_moved: HeadMoved;
  elapse: Elapse;
  rules: Rules;
  void: Void;
}

/** What every timer says besides its name. The leading half declares its own as it does its commands. */
export interface Dues extends LockDues, SessionDues, TalkDues {}

export type DueName = keyof Dues;
export type DueOf<W extends DueName> = { [K in W]: { readonly what: K } & Dues[K] }[W];
/** A timer that expired, by name. The core refuses it if it no longer fits the state. */
export type Due = DueOf<DueName>;

export type CommandType = keyof Commands;
/** The command named `T`. A union of names gives one union type, so that code can index the table of handlers. */
export type CommandOf<T extends CommandType> = { [K in T]: { readonly type: K } & Commands[K] }[T];
export type Command = CommandOf<CommandType>;

/** An event's position: the epoch and `seq` of its entry, and its number within the entry. */
export interface EventCursor {
  readonly epoch: number;
  readonly seq: number;
  readonly n: number;
}

/** A success or a refusal, as the wire carries it. */
export type Reply = { readonly ok: true; readonly [field: string]: unknown } | Refusal;

/** The effects of an entry outside the state. The engine releases them once the entry is as durable as required. */
export class Step {
  /** The answer to the entry's own origin; null: the request waits. */
  reply: Reply | null = null;
  /** Answers to waiters. */
  readonly answers: Answer[] = [];
  readonly events: CoreEvent[] = [];
  /** The latest event before this entry's. */
  lastEventCursor: EventCursor | null = null;
  /** Timers that the step starts. */
  readonly timers: Timer[] = [];
  /** In a shared project: who has to know that work on a task begins, by the tasks. */
  readonly readers = new Map<string, readonly Whose[]>();
}

export interface Answer {
  readonly to: Origin;
  readonly reply: Reply;
  /** The grant that this answer carries, or null; `lock_undelivered` undoes it if the answer is not delivered. */
  readonly grant: Granted | null;
}

/** The holder and the files of a grant. */
export type Grant = Pick<LockRequest, "actor" | "files">;

/** A grant with what says how long its lock lasts. */
export type Granted = Grant & Pick<LockRequest, "kind" | "bound">;

/** An event with the sessions that it is `about`; with `to`, only that request's connection gets it. */
export interface CoreEvent {
  readonly event: KiteEvent;
  readonly about: readonly string[];
  readonly project: string;
  readonly to?: Origin;
  /** In a shared project: the node whose news it is. That machine's own log has an event of it. */
  readonly from?: string;
  /** Of `lock_released`: how long each of the named files was locked, in milliseconds. Not on the wire. */
  readonly heldMs?: readonly number[];
  /** Of a task: who worked on it before the step. Not on the wire. */
  readonly worker?: ActorRow;
  /**
   * Of the end of a claim in a shared project: who asked for it, null for a person. Absent: nobody did, or another part tells
   * the agent. Not on the wire.
   */
  readonly by?: ActorRow | null;
  /** Of a task in a shared project whose work begins: the agents whose machines tell them of it. Not on the wire. */
  readonly readers?: readonly Whose[];
}

export interface Timer {
  readonly at: number;
  readonly due: Due;
}

// The points of the base at which other slices act: a slice says in its rules what it does there. All of them run in the
// order of the list of slices, within the same entry. `S`: the tables that the slice needs.

/** A task with what its risk depends on. */
export type RiskyTask = Pick<Task, "id" | "project" | "risk">;

/** Which tasks an actor takes by their risk, and as what: `the role tester`. */
export interface Taking {
  readonly risks: readonly Risk[];
  readonly as: string;
}

/** What a slice of a machine's own log has for the other machines of a shared project, of each agent. */
export interface Part<S> {
  /**
   * In the own log: yields what others have to know of a live session's agents; null is the main agent. No path of the machine
   * is in it. Absent: others say it of the agent.
   */
  tell?(state: S, session: string): Iterable<readonly [agent: string | null, told: JsonValue]>;
  /**
   * In a copy: takes what is known now, in place of what was. Null, or what has no sense: nothing is. `step` null: nobody has
   * to hear of it.
   */
  take(state: S, whose: Whose, told: JsonValue, step: Step | null): void;
}

/** The same of a machine as a whole. */
export interface MachinePart<S> {
  /** In the own log: returns what others have to know of these projects; null: nothing. No path of the machine is in it. */
  tell(state: S, projects: ReadonlySet<string>): JsonValue;
  /** As that of `Part`; `row`: the part as it is, or as it was last. */
  take(state: S, row: PartRow, told: JsonValue, step: Step | null): void;
}

/** Whose lock or claim a request is for, and where a session of that id begins if it is not registered. */
export type ActsFor = Pick<LockRequest, "actor" | "project" | "cwd" | "wallMs">;

export interface Points<S> {
  /** A daemon of this node has started anew: its earlier connections are gone. */
  daemonStarts?(state: S, node: string, step: Step): void;
  /** Another agent stopped this one, which ends. */
  agentIsStopped?(state: S, session: string, agent: string): void;
  /** An agent within a session ends: its inbox, freezes and declarations have. `isStopped`: another agent stopped it. */
  agentEnds?(state: S, session: string, agent: string, isStopped: boolean): void;
  /** A session gets a lock or a claim: one that is not registered begins, without a process. */
  sessionActs?(state: S, by: ActsFor, meta: Pick<Entry, "seq" | "origin">, step: Step): void;
  /** A session goes on under the id `to`: it still lives, and that one has not begun. */
  sessionMoves?(state: S, from: string, to: string): void;
  /** A session ends: its locks, claims, notices and declarations have. */
  sessionEnds?(state: S, session: Session, cause: string, step: Step): void;
  /** What other machines have to know of agents, by unique names. */
  readonly parts?: { readonly [name: string]: Part<S> };
  /** What other machines have to know of this one, by unique names. */
  readonly machineParts?: { readonly [name: string]: MachinePart<S> };
  /** Returns a sentence for each thing in a declaration that the agent's client says otherwise. */
  mismatchesIn?(state: S, declaration: Declaration): readonly string[];
  /** Returns what the answer to a declaration says besides what it is. */
  declaredFields?(state: S, declaration: Declaration): object;
  /** An actor begins to work on a task, or the risk of the one that it works on rose. A person: null. */
  taskBegins?(state: S, task: Task, by: Actor | null, step: Step): void;
  /** Whether `by` answers for another actor, and so may end its work on a task. */
  answersFor?(state: S, by: Actor, other: Actor): boolean;

  // The first slice that has a rule at one of these points answers.

  /** Returns why one more session without a process cannot begin, or null. */
  roomForSession?(state: S): Refusal | null;
  /** Returns the risks of the tasks that the actor takes; without an answer it takes all. */
  takes?(state: S, by: Actor): Taking;
  /** Returns why the actor may not take the task by its risk, or null. */
  mayTake?(state: S, task: RiskyTask, by: Actor): Refusal | null;
  /** Returns why the claimer of a running task may not go on with it at this risk, or null. */
  mayKeep?(state: S, task: RiskyTask, claimer: Actor): Refusal | null;
  /** Returns why an agent may not lower the risk of a task that is not critical, or null. */
  mayLower?(state: S, task: Task, next: Risk, by: Actor): Refusal | null;
  /** Returns what is missing that would stand in for a person's yes to a red task, or null. */
  missingForRed?(state: S, project: string, by: Actor | null): string | null;
  /** Returns the id of the debate that a request names for a task of the project, or a refusal; undefined: none. */
  debateNamed?(state: S, project: string, name: string | null | undefined): string | undefined | Refusal;
  /** Returns the debate that an imported task keeps; undefined: none. */
  debateKept?(state: S, task: Pick<Task, "project" | "debate">): string | undefined;
  /** Returns why `by` may not give the task another debate, or none, or null. */
  mayReplaceDebate?(state: S, task: Task, next: string | undefined, by: Actor | null): Refusal | null;
}

/** Returns the rule of the first slice that has one at this point. */
export function ruleAt<S, N extends keyof Points<S>>(
  points: readonly Points<S>[],
  name: N,
): Points<S>[N] | undefined {
  for (const rules of points) if (rules[name] !== undefined) return rules[name];
  return undefined;
}

// What must be on disk before its answer, and what a full disk takes: each command's handler stands in one of these kinds.

export interface Durability {
  /**
   * Whether the engine holds replies and events back until the command is on disk. Sessions and locks need not be: a
   * power cut ends the holders too. `asked`: the command's own `durable` decides.
   */
  readonly durable: boolean | "asked";
  /**
   * Whether the journal accepts the command on a full disk. Such a command frees space, ends a lock or wait that blocks
   * others, or belongs to the daemon's start. These commands are short, so the reserved space lasts for thousands of them. A
   * function decides for each command.
   */
  readonly frees: boolean | ((command: never) => boolean);
}

type Kept<H> = Durability & { readonly apply: H };

export const passing = <H>(apply: H): Kept<H> => ({ apply, durable: false, frees: false });
export const freeing = <H>(apply: H): Kept<H> => ({ apply, durable: false, frees: true });
export const lasting = <H>(apply: H): Kept<H> => ({ apply, durable: true, frees: false });
export const lastingAndFreeingIf = <H>(apply: H, frees: Durability["frees"]): Kept<H> => ({
  apply,
  durable: true,
  frees,
});
export const lastingAndFreeing = <H>(apply: H): Kept<H> => ({ apply, durable: true, frees: true });
