/** The effects of an entry: replies, events, timers. Invariant: a step never changes the state. */

import type { Refusal } from "../../../protocol/codes.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import type { Risk } from "../../../protocol/names.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { Actor, Origin, Retry } from "../frame/actors.ts";
import type { NodeCommands, NodeDues, Traits } from "../nodes/commands.ts";
import type { OutboxCommands } from "../outbox/commands.ts";
import type { Declaration, DeclarationCommands } from "./declarations.ts";
import type { LockCommands, LockDues, LockRequest } from "./locks.ts";
import type { NoteCommands, TalkCommands, TalkDues } from "./messages.ts";
import type { Session, SessionCommands, SessionDues } from "./sessions.ts";
import type { Task, TaskCommands } from "./tasks.ts";
import type { StashesNoted, WriteCommands } from "./uncommitted.ts";

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
    NoteCommands,
    NodeCommands,
    OutboxCommands {
  daemon_started: DaemonStarted;
  reply_unheard: ReplyUnheard;
  stashes_noted: StashesNoted;
  elapse: Elapse;
  rules: Rules;
  void: Void;
}

/** What every timer says besides its name. The leading half declares its own as it does its commands. */
export interface Dues extends LockDues, SessionDues, TalkDues, NodeDues {}

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
  /** In a shared log: the person who speaks in the entry; null: it has another speaker. */
  person: ActorRow | null = null;
  /** The answer to the entry's own origin; null: the request waits. */
  reply: Reply | null = null;
  /** Answers to waiters. */
  readonly answers: Answer[] = [];
  readonly events: CoreEvent[] = [];
  /** The latest event before this entry's. */
  lastEventCursor: EventCursor | null = null;
  /** Timers that the step starts. */
  readonly timers: Timer[] = [];
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
  /** In a shared log: the node whose news it is, which has another event of it. */
  readonly from?: string;
  /** Of `lock_released`: how long each of the named files was locked, in milliseconds. Not on the wire. */
  readonly heldMs?: readonly number[];
  /** Of a task: who worked on it before the step. Not on the wire. */
  readonly worker?: ActorRow;
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

/** What a slice says of an actor in a row of its own. An agent that is null is the session's main agent. */
export interface Part<S> {
  /** Yields the agents of a live session that have the part in this log. */
  agentsWith(state: S, session: string): Iterable<string | null>;
  /** In a node's own log: returns what the other nodes have to know now; null: nothing. No path of the machine is in it. */
  tell(state: S, session: string, agent: string | null): JsonValue;
  /** In a shared log: takes what the actor's node says. Null, or what has no sense: the actor has the part no more. */
  take(state: S, session: string, agent: string | null, value: JsonValue, step: Step): void;
}

/** What a slice says of a node as a whole, in a row of its own. */
export interface NodePart<S> {
  /** In a node's own log: returns what the other nodes have to know now; null: nothing. No path of the machine is in it. */
  tell(state: S): JsonValue;
  /** In a shared log: takes what the node says. Null, or what has no sense: the node has the part no more. */
  take(state: S, node: string, value: JsonValue, step: Step): void;
}

/** Whose lock or claim a request is for, and where a session of that id begins if it is not registered. */
export type ActsFor = Pick<LockRequest, "actor" | "project" | "cwd" | "wallMs">;

export interface Points<S> {
  /** A daemon of this node has started anew: its earlier connections are gone. */
  daemonStarts?(state: S, node: string, step: Step): void;
  /** Another agent stopped this one, which ends. */
  agentIsStopped?(state: S, session: string, agent: string): void;
  /** An agent within a session began, or its name became known. */
  agentBegins?(state: S, session: Session): void;
  /** An agent within a session ends: its inbox, freezes and declarations have. `isStopped`: another agent stopped it. */
  agentEnds?(state: S, session: string, agent: string, isStopped: boolean): void;
  /** A session gets a lock or a claim: one that is not registered begins, without a process. */
  sessionActs?(state: S, by: ActsFor, meta: Pick<Entry, "seq" | "origin">, step: Step): void;
  /** A session began, ended in one of its terminals, got another name, branch or project, or was lost or found. */
  sessionChanges?(state: S, session: Session): void;
  /** What `traitsOf` says of an actor may be something else now. Null: the session's main agent. */
  actorChanges?(state: S, session: string, agent: string | null): void;
  /** The value of one of `parts` may be something else now. */
  partChanges?(state: S, session: string, agent: string | null, part: string): void;
  /** A session goes on under the id `to`: it still lives, and that one has not begun. */
  sessionMoves?(state: S, from: string, to: string): void;
  /** A session ends: its locks, claims, notices and declarations have. */
  sessionEnds?(state: S, session: Session, cause: string, step: Step): void;
  /** Returns what other nodes have to know of an actor, each part under its own name. Null: the session's main agent. */
  traitsOf?(state: S, session: string, agent: string | null): Traits;
  /** In a shared log: an actor's node says what it knows of it. The actor loses every trait that `traits` does not name. */
  takeTraits?(state: S, session: string, agent: string | null, traits: Traits): void;
  /**
   * What other nodes have to know of actors, too, by unique names: what is long, or changes often. Each has a row of its own in
   * the outbox, which goes when `partChanges` says so, and not at each change of the session.
   */
  readonly parts?: { readonly [name: string]: Part<S> };
  /** What other nodes have to know of this one, by unique names. */
  readonly nodeParts?: { readonly [name: string]: NodePart<S> };
  /** The value of one of `nodeParts` may be something else now. */
  nodePartChanges?(state: S, part: string): void;
  /** Returns a sentence for each thing in a declaration that the agent's client says otherwise. */
  mismatchesIn?(state: S, declaration: Declaration): readonly string[];
  /** Returns what the answer to a declaration says besides what it is. */
  declaredFields?(state: S, declaration: Declaration): object;
  /** An actor begins to work on a task, or the risk of the one that it works on rose. A person: null. */
  taskBegins?(state: S, task: Task, by: Actor | null): void;
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
