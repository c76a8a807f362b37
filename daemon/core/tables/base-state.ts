/** The tables of the base, and the state of them before the first entry. Invariants: those that `check` tests. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { Limits } from "../../../protocol/limits.ts";
import { type Actor, type Bound, type FileRef, type Origin, originKey, type Retry } from "../frame/actors.ts";
import { PathIndex } from "../frame/records.ts";
import { Preimages, pairList } from "../frame/saved-rows.ts";
import { type ContextTable, noContext } from "./context.ts";
import { type Declarations, noDeclarations } from "./declarations.ts";
import {
  type ActsFor,
  type Command,
  type CommandOf,
  type CommandType,
  type Due,
  type DueName,
  type DueOf,
  type Durability,
  type EventCursor,
  type Points,
  type Reply,
  ruleAt,
  type Step,
} from "./entries.ts";
import { type Heads, noHeads } from "./heads.ts";
import { type ActorLocks, type ActorTable, actorTable, type LockKind, OtherWords } from "./locks.ts";
import { type Freezes, type Messages, type Notes, noFreezes, noMessages, noNotes } from "./messages.ts";
import { noParts, type Parts } from "./parts.ts";
import { noSessions, Revisions, type Sessions } from "./sessions.ts";
import { noTasks, type Tasks } from "./tasks.ts";
import {
  type Commits,
  noCommits,
  noStashes,
  noWrites,
  type Risks,
  riskRecords,
  type Stashes,
  type Writes,
} from "./uncommitted.ts";
import { WaitGraph } from "./waits.ts";

export type * from "./context.ts";
export type * from "./messages.ts";
export type { Session, Sessions } from "./sessions.ts";
export type * from "./uncommitted.ts";

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
  /**
   * Whether this is a machine's copy of a shared project, and not its own log. In it, sessions of other machines have the ids
   * `ID@NODE` and the names `name@machine`. It keeps no notices: an agent's own log has these.
   */
  isShared: boolean;
  /** derived: another number when what other machines see of agents and merges of this one may be something else. */
  partsRevision: number;
  /** The latest start of each node's daemon, the latest last. */
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
  readonly context: ContextTable;
  readonly messages: Messages;
  readonly freezes: Freezes;
  readonly stashes: Stashes;
  readonly commits: Commits;
  readonly heads: Heads;
  readonly parts: Parts;
  /** Replies kept for retries, oldest first. */
  readonly replies: Map<string, KeptReply>;
}

export interface NodeStart {
  readonly epoch: number;
  readonly at: number;
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
   * answer removes its origin, and the grant is undone with the last one.
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

interface ExpiredWrite {
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
    isShared: false,
    partsRevision: 0,
    nodes: new Map(),
    sessions: noSessions(touched, preimages, revisions),
    locks: noLocks(touched, preimages),
    tasks: noTasks(touched, preimages, revisions),
    writes: noWrites(revisions),
    ...riskRecords.empty(),
    notes: noNotes(),
    declarations: noDeclarations(revisions, bounds),
    context: noContext(),
    messages: noMessages(touched, preimages, bounds),
    freezes: noFreezes(touched),
    stashes: noStashes(bounds),
    commits: noCommits(bounds),
    heads: noHeads(bounds),
    parts: noParts(),
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

// What a slice brings above the state: its rules. Invariant: a handler checks first and changes after.

/** An entry's place in the log, and the origin that its answer goes to. */
export interface Meta {
  readonly seq: number;
  readonly origin: Origin;
}

/** Changes the state by one command. A refusal goes into `step.reply`; only a bug throws. `S`: the tables that it needs. */
export type Handler<T extends CommandType, S extends BaseState = BaseState> = (
  state: S,
  command: CommandOf<T>,
  meta: Meta,
  step: Step,
) => void;

/** One handler per command, with its durability; a missing one does not compile. */
export type CommandRules<T extends CommandType, S extends BaseState = BaseState> = {
  readonly [K in T]: Durability & { readonly apply: Handler<K, S> };
};

interface TimerRule<D, S> {
  /** Returns when it is due in this state (core time, ms), or null if it no longer applies. */
  at(state: S, due: D): number | null;
  /** Does what is due. */
  over(state: S, due: D, step: Step): void;
}

/** One rule per timer; a missing one does not compile. */
export type TimerRules<W extends DueName, S extends BaseState = BaseState> = {
  readonly [K in W]: TimerRule<DueOf<K>, S>;
};

/**
 * Makes the rule of a timer for one row of a table. The rule says how to find the row, when the timer is due, and what
 * happens then.
 */
export function timer<D, S, R>(
  find: (state: S, due: D) => R | undefined,
  at: (row: R, state: S) => number | null,
  over: (state: S, row: R, step: Step) => void,
): TimerRule<D, S> {
  return {
    at(state, due) {
      const row = find(state, due);
      return row === undefined ? null : at(row, state);
    },
    over(state, due, step) {
      const row = find(state, due);
      if (row !== undefined) over(state, row, step);
    },
  };
}

/** The numbers of what a slice makes: its ids are `kind-TIME-NUMBER`, with the time of the request. */
export interface Numbers<S> {
  readonly kind: string;
  /** Returns the table, whose `count` is the last number. */
  tableIn(state: S): { count: number };
  /** Returns how many numbers the command uses. */
  usedBy(command: Command): number;
}

/** The rules of a slice with these commands. */
export interface Rules<C, S extends BaseState = BaseState> {
  readonly commands: CommandRules<keyof C & CommandType, S>;
  /**
   * The commands that nodes enter into a log that they share. All others belong to the machine whose files they are about.
   */
  readonly shared?: readonly (keyof C & CommandType)[];
  readonly points?: Points<S>;
  readonly numbers?: Numbers<S>;
}

/** The rules of a slice that also has timers. */
export interface TimedRules<C, D, S extends BaseState = BaseState> extends Rules<C, S> {
  readonly timers: TimerRules<keyof D & DueName, S>;
  /** Yields all timers that its part of the state has, for a start from a snapshot. */
  dues(state: S): Iterable<Due>;
}

type Joined<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Returns all rows of these tables in one. The later of two rows with one name counts. */
export function joined<T extends object>(tables: readonly T[]): Joined<T> {
  return Object.assign({}, ...tables);
}

// Replies kept for retries: the same requestId from the same sender gets the same reply and is applied once.
//
// Invariants: there are at most `limits.repliesMax` replies, the oldest first. Without the latest they have at most
// `limits.repliesChars`; `replyChars` is the total. No retry gets a reply older than `limits.replyKeptMs`. A refusal that no
// client can have read is not kept; a success stays, so that a retry does not repeat it.

/** Forgets an undelivered refusal, so that a retry runs. A success stays, because it changed the state. */
export function replyUnheard(
  state: BaseState,
  { to, kept }: CommandOf<"reply_unheard">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept, to);
}

function keyOf(retry: Retry): string {
  return `${retry.by}\n${retry.requestId}`;
}

/** Returns the reply kept for this request, a refusal if the body differs, or null. Records `to` as its new origin. */
export function keptReply(state: BaseState, retry: Retry, to: Origin): Reply | null {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || kept.at + state.limits.replyKeptMs <= state.t) return null;
  if (kept.digest !== retry.digest) return conflict(retry);
  state.replies.set(keyOf(retry), { ...kept, to });
  return kept.reply;
}

export function conflict(retry: Retry): Reply {
  return refuse(
    "request_conflict",
    `requestId ${retry.requestId} came before with another body; give a new request a new requestId`,
  );
}

export function keepReply(state: BaseState, retry: Retry, reply: Reply, to: Origin): void {
  const { replies, limits } = state;
  const key = keyOf(retry);
  drop(state, key);
  const chars = JSON.stringify(reply).length;
  putReply(state, key, { digest: retry.digest, at: state.t, to, reply, chars });
  for (const [oldest, kept] of replies) {
    const isMuch = replies.size > limits.repliesMax || state.replyChars > limits.repliesChars;
    if (oldest === key || (!isMuch && kept.at + limits.replyKeptMs > state.t)) break;
    drop(state, oldest);
  }
}

/** Adds a reply as the latest one. */
function putReply(state: BaseState, key: string, kept: KeptReply): void {
  state.replies.set(key, kept);
  state.replyChars += kept.chars;
}

function drop(state: BaseState, key: string): void {
  state.replyChars -= state.replies.get(key)?.chars ?? 0;
  state.replies.delete(key);
}

/** Forgets the kept reply; with `to` only if it was last sent there, so that the reply to a later retry stays. */
export function forgetReply(state: BaseState, retry: Retry, to?: Origin): void {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || (to !== undefined && originKey(kept.to) !== originKey(to))) return;
  drop(state, keyOf(retry));
}

/** Forgets a node's refusals after its daemon restarted: the daemon cannot know whether their clients read them. */
export function forgetRefusals(state: BaseState, node: string): void {
  for (const [key, { to, reply }] of state.replies) if (!reply.ok && to.node === node) drop(state, key);
}

export const replyRows = {
  lists: {
    replies: pairList(
      (replies: BaseState["replies"]) => replies,
      (_replies, [key, kept], state: BaseState) => putReply(state, key, kept),
    ),
  },
};

/** Yields a sentence if `replyChars` is wrong; part of `check`. */
export function* checkReplies({ replies, replyChars }: BaseState): Generator<string> {
  const chars = [...replies.values()].reduce((sum, kept) => sum + kept.chars, 0);
  if (chars !== replyChars) yield `kept replies have ${chars} characters, not ${replyChars}`;
}

// What locks and claims need of the rules of sessions, which stand above them.

/** Begins a session without a process for a lock or a claim whose session is not registered. */
export function ensureSession(state: BaseState, by: ActsFor, meta: Meta, step: Step): void {
  for (const { sessionActs } of state.points) sessionActs?.(state, by, meta, step);
}

/** Returns why one more session without a process cannot begin, or null. */
export function noRoomForSession(state: BaseState): Refusal | null {
  return ruleAt(state.points, "roomForSession")?.(state) ?? null;
}
