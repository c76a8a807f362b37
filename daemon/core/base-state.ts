/** The tables of the base, and the state of them before the first entry. Invariants: those that `check` tests. */
import type { Limits } from "../../protocol/limits.ts";
import type { Actor } from "./actor.ts";
import { type Branches, branchRecords } from "./branches/table.ts";
import { type ContextTable, noContext } from "./context-index.ts";
import { type Declarations, noDeclarations } from "./declarations/table.ts";
import type { FileRef } from "./file-ref.ts";
import { noWrites, type Risks, riskRecords, type Writes } from "./files/table.ts";
import { type ActorLocks, type ActorTable, actorTable } from "./locks/by-actor.ts";
import { OtherWords } from "./locks/by-words.ts";
import type { LockKind } from "./locks/commands.ts";
import { WaitGraph } from "./locks/wait-graph.ts";
import { type Notes, noNotes } from "./messages/notice-table.ts";
import { type Freezes, type Messages, noFreezes, noMessages } from "./messages/state.ts";
import { type NodeLeases, noLeases } from "./nodes/table.ts";
import type { Bound, Origin, Retry } from "./origin.ts";
import { noOutbox, type Outbox } from "./outbox/table.ts";
import type { EventCursor, Reply } from "./outcome.ts";
import { PathIndex } from "./path-index.ts";
import type { Points } from "./points.ts";
import { Preimages } from "./preimages.ts";
import { Revisions } from "./sessions/revisions.ts";
import { noSessions, type Sessions } from "./sessions/table.ts";
import { noStashes, type Stashes } from "./stashes/table.ts";
import { noTasks, type Tasks } from "./tasks/table.ts";

export type * from "./context-index.ts";
export type * from "./files/table.ts";
export type * from "./messages/state.ts";
export type { Session, Sessions } from "./sessions/table.ts";

/** The level of rules that this program applies; a replay may also use any of `rulesKnown`. */
export const rulesLevel = 3;
export const rulesKnown: readonly number[] = [1, 2, 3];
/** The level of a log's entries before its first `rules` entry. */
export const firstRulesLevel = 1;

/** The state without the tables that lead agents. A snapshot leaves out `derived` fields: loading rebuilds these indexes. */
export interface BaseState extends BaseTables, Risks {
  /** The level of rules under which `apply` runs entries. */
  rules: number;
  /** The bounds of its tables, the same on every machine and in every replay; no snapshot has them. */
  readonly limits: Limits;
  /** What other slices do at the points of the base, in the order of the list of slices; no snapshot has it. */
  readonly points: readonly Points<BaseState>[];
  /** The `seq` of the last entry applied. */
  seq: number;
  /** The core's time in milliseconds; it never decreases. */
  t: number;
  storeId: string;
  epoch: number;
  /** The latest start of each node's daemon, the latest last; in a shared log at most `limits.nodeStartsMax`. */
  readonly nodes: Map<string, NodeStart>;
  /** derived: the total length of kept replies, as JSON in UTF-16 units. */
  replyChars: number;
  /** The cursor of the latest event that was not for one request's connection alone. */
  lastEventCursor: EventCursor;
  /** derived: the rows that snapshots under way still have to write as they were; its tables have the same. */
  readonly preimages: Preimages;
}

/** The tables of the base. */
export interface BaseTables extends Pick<Risks, "risks"> {
  readonly sessions: Sessions;
  readonly locks: Locks;
  readonly tasks: Tasks;
  readonly writes: Writes;
  readonly notes: Notes;
  readonly declarations: Declarations;
  readonly branches: Branches;
  readonly context: ContextTable;
  readonly messages: Messages;
  readonly freezes: Freezes;
  readonly stashes: Stashes;
  readonly leases: NodeLeases;
  readonly outbox: Outbox;
  /** Replies kept for retries, oldest first. */
  readonly replies: Map<string, KeptReply>;
}

export interface NodeStart {
  readonly epoch: number;
  readonly at: number;
  /** The node left a shared log in this start, which enters nothing more. */
  readonly hasLeft?: true;
}

export interface Locks {
  readonly preimages: Preimages;
  readonly holds: Map<string, Hold>;
  /** By ticket, the `seq` of the entry that queued the waiter; in queue order. */
  readonly waiters: Map<number, Waiter>;
  /** The number of grants so far; the next token's `grant` is one more. */
  grants: number;
  /** Writes in flight whose lock ended first, by actor and tool use, oldest first. */
  readonly expiredWrites: Map<string, ExpiredWrite>;
  /** derived */
  readonly heldPaths: PathIndex;
  /** derived */
  readonly waitedPaths: PathIndex;
  /** derived: tickets of waiters by key, each with the file of that key. */
  readonly waitersAt: Map<string, Map<number, FileRef>>;
  /** derived: held keys, and tickets of waiters, by requested path if it differs from the key's path. */
  readonly heldWords: OtherWords<string>;
  readonly waitedWords: OtherWords<number>;
  /** derived: the wait-for graph between actors. */
  readonly graph: WaitGraph;
  /** derived */
  readonly actors: ActorTable;
  /** derived: tickets of attached waiters by the origin that their answer goes to. */
  readonly byOrigin: Map<string, number>;
  /** derived: held keys by the connections that the lock and its loans are bound to. */
  readonly byBound: Map<string, Set<string>>;
}

/** A fencing token, ordered by (epoch, grant). */
export interface Token {
  readonly epoch: number;
  readonly grant: number;
}

/** A held lock. */
export interface Hold {
  readonly key: string;
  /** The path as the latest request spelled it, if the key is case-folded. */
  readonly path?: string | undefined;
  readonly file: string;
  readonly lexical: string;
  readonly dir: boolean;
  readonly actor: Actor;
  readonly kind: LockKind;
  readonly prompt: string | null;
  readonly bound: Bound | null;
  readonly token: Token;
  /** The first token of this unbroken lock: all tokens issued for it from `first` to `token` are valid. */
  readonly first: Token;
  /** The number of the latest grant when the lock came to its position in the table: passing it on moves it to the end. */
  readonly place: number;
  readonly since: number;
  readonly touched: number;
  /** When a permission dialog renewed the lease (core time, ms), at most once; or null. */
  readonly renewed: number | null;
  readonly yieldMs: number;
  /** Tool uses whose writes are in flight. */
  readonly flights: readonly string[];
  /** Absent: the present start saw its flights begin, or it has none. */
  readonly unseen?: UnseenFlights | undefined;
  /** Tool uses that count as over although nobody saw their end. Absent: none. */
  readonly expiredFlights?: readonly string[] | undefined;
  readonly ancestors: readonly (string | null)[];
  /** The loan by which an explicit lock returns to its lender when the borrower is done; or null. */
  readonly loan: Loan | null;
  /**
   * The origins that got the grant: that of the request, and those of later requests of the actor. An undelivered
   * answer removes its origin, and the grant is undone with the last one. See `heard.ts`.
   */
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
  /** The retry under which the reply to the latest request for this lock is kept. */
  readonly retry: Retry | null;
  /** derived: its actor's row; null until the lock is in the table. */
  row: ActorLocks | null;
  /** derived: its place in that row. */
  placeInRow: number;
}

/** What is known of writes in flight whose end may not be heard: they began before their node's daemon started, or are untold. */
export interface UnseenFlights {
  /** When that daemon started, a person was last known to be asked, or the untold write is done (core time). */
  readonly sinceMs: number;
  /** A person is asked about the write: it stays in flight. */
  readonly waits: boolean;
  /** This start saw the write begin, and its client may never tell its end. */
  readonly untold?: true;
}

/** The lender's side of an explicit lock that a descendant uses. */
export interface Loan {
  readonly actor: Actor;
  readonly bound: Bound | null;
  readonly first: Token;
  readonly since: number;
  readonly ancestors: readonly (string | null)[];
  /** The lender's own answer origins and retry, as in `Hold`. */
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
  readonly retry: Retry | null;
  readonly loan: Loan | null;
  /** The lender's token, which it gets back: absent unless a command of the lender borrowed the lock. */
  readonly token?: Token;
}

export interface ExpiredWrite {
  readonly actor: Actor;
  readonly key: string;
  readonly path?: string | undefined;
  readonly file: string;
  readonly at: number;
}

export interface Waiter {
  readonly ticket: number;
  /** Where the answer goes; null: detached, so it blocks no request until its actor asks again. */
  readonly origin: Origin | null;
  readonly actor: Actor;
  readonly files: readonly FileRef[];
  readonly single: boolean;
  readonly kind: LockKind;
  readonly prompt: string | null;
  readonly flight: string | null;
  readonly untoldMs?: number | undefined;
  readonly beside?: true | undefined;
  readonly yieldMs: number;
  readonly ancestors: readonly (string | null)[];
  readonly bound: Bound | null;
  readonly placeMs: number;
  readonly detach: boolean;
  readonly progress: boolean;
  readonly since: number;
  readonly waitMs: number;
  /** The end of the wait while attached, of the queue position while detached (core time, ms). */
  readonly deadline: number;
  /** The end of the wait for `flight` (core time, ms). A reconnect does not extend it: the hook has its own limit. */
  readonly waitEnd: number;
  readonly retry: Retry | null;
  /** derived: its actor's row; null until the waiter is in the table. */
  row: ActorLocks | null;
  /** derived: the number of its blockers; null while it is detached. */
  blockers: number | null;
}

export interface KeptReply {
  readonly digest: string;
  readonly at: number;
  /** The origin that the reply was last sent to. */
  readonly to: Origin;
  readonly reply: Reply;
  /** The length of the reply as JSON, in UTF-16 units. */
  readonly chars: number;
}

/** Returns the base of the state before the first entry. */
export function emptyBaseState(
  points: readonly Points<BaseState>[],
  rules: number,
  bounds: Limits,
): BaseState {
  const touched = new Set<string>();
  const preimages = new Preimages();
  const revisions = new Revisions();
  return {
    rules,
    limits: bounds,
    points,
    seq: 0,
    t: 0,
    storeId: "",
    epoch: 0,
    nodes: new Map(),
    sessions: noSessions(touched, preimages, revisions),
    locks: noLocks(touched, preimages),
    tasks: noTasks(touched, preimages, revisions),
    writes: noWrites(revisions),
    ...riskRecords.empty(),
    notes: noNotes(),
    declarations: noDeclarations(revisions, bounds),
    branches: branchRecords.empty(),
    context: noContext(),
    messages: noMessages(touched, preimages, bounds),
    freezes: noFreezes(touched),
    stashes: noStashes(bounds),
    leases: noLeases(bounds),
    outbox: noOutbox(bounds),
    replies: new Map(),
    replyChars: 0,
    lastEventCursor: { epoch: 0, seq: 0, n: 0 },
    preimages,
  };
}

export function noLocks(touched: Set<string>, preimages: Preimages): Locks {
  const holds = new Map<string, Hold>();
  return {
    preimages,
    holds,
    waiters: new Map(),
    grants: 0,
    expiredWrites: new Map(),
    heldPaths: new PathIndex(holds),
    waitedPaths: new PathIndex(),
    waitersAt: new Map(),
    heldWords: new OtherWords(),
    waitedWords: new OtherWords(),
    graph: new WaitGraph(),
    actors: actorTable(touched),
    byOrigin: new Map(),
    byBound: new Map(),
  };
}
