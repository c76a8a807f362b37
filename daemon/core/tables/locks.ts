/**
 * The commands of locks, and the index of locks and waiters by actor, which is derived from both. A command of an actor has a
 * row of its own.
 *
 * Invariants: an actor's row exists exactly while the actor holds, waits for or lends a lock. A session counts the held keys
 * and the waited files of all its rows, and its rows of commands.
 */

import {
  type Actor,
  actorKey,
  type Bound,
  type FileName,
  type FileRef,
  type Origin,
  type Retry,
  runsInside,
  sameActor,
} from "../frame/actors.ts";
import { addToSet, assert, removeFromSet, type Sets, type SortedKeys } from "../frame/collections.ts";
import type { WriteNote } from "./uncommitted.ts";

// The keys that one actor holds, in the order in which it took them. Each lock knows its place, so no key is looked up. A
// set would be, and would be made anew each time that removed keys fill it.
//
// Invariant: `hold.placeInRow` is the lock's place in the list that it is in.

/** A lock as far as the list knows it. */
interface Placed {
  readonly key: string;
  placeInRow: number;
}

/** So many gaps do no harm. */
const gapsKept = 16;

export class HeldKeys {
  /** Null: a gap, where a lock was removed. */
  #holds: (Placed | null)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(hold: Placed): void {
    hold.placeInRow = this.#holds.push(hold) - 1;
    this.#size += 1;
  }

  /** Removes a lock of this list. */
  remove(hold: Placed): void {
    const holds = this.#holds;
    holds[hold.placeInRow] = null;
    this.#size -= 1;
    while (holds.length > 0 && holds[holds.length - 1] === null) holds.pop();
    if (holds.length - this.#size > Math.max(this.#size, gapsKept)) this.#closeGaps();
  }

  /** The caller must not add or remove locks meanwhile. */
  *[Symbol.iterator](): Generator<string, void> {
    for (const hold of this.#holds) if (hold !== null) yield hold.key;
  }

  /** The latest keys, at most `max`, in the order in which they were taken; the others cost nothing. */
  latest(max: number): string[] {
    const keys: string[] = [];
    for (let place = this.#holds.length - 1; place >= 0 && keys.length < max; place -= 1) {
      const hold = this.#holds[place];
      if (hold != null) keys.push(hold.key);
    }
    return keys.reverse();
  }

  #closeGaps(): void {
    this.#holds = this.#holds.filter(hold => hold !== null);
    for (const [place, hold] of this.#holds.entries()) if (hold !== null) hold.placeInRow = place;
  }
}

export interface ActorLocks {
  actor: Actor;
  /** The rows of its session. */
  session: SessionLocks;
  readonly holds: HeldKeys;
  /** Held keys that the end of its turn releases, and tickets that it ends; in the same order. */
  readonly turnHolds: Set<string>;
  readonly turnWaits: Set<number>;
  /** Held keys with writes in flight, or that expired. */
  readonly flying: Set<string>;
  /** Held keys that yield to waiters, each with the number of waited files that overlap it. */
  readonly wanted: Map<string, number>;
  /** Keys of its explicit locks that descendants use. */
  readonly lent: Set<string>;
  /** Tickets of its waiters, in queue order. */
  readonly waits: Set<number>;
  /** How many of its waiters are attached. */
  attached: number;
  /** Edges to the actors it waits for, and from the actors that wait for it; see `waits.ts`. */
  readonly ahead: Map<ActorLocks, Edge>;
  readonly behind: Map<ActorLocks, Edge>;
}

/** Requests of one actor that wait for another actor. */
export interface Edge {
  readonly from: ActorLocks;
  readonly to: ActorLocks;
  /** The requests' tickets, each with how often it waits for `to`. */
  readonly tickets: Map<number, number>;
  /** The same tickets in queue order; null until `firstOf` needs them. */
  line: SortedKeys | null;
}

interface SessionLocks {
  readonly rows: Set<ActorLocks>;
  /** How many keys they hold. */
  held: number;
  /** How many files their waiters name. */
  queued: number;
  /** How many of them are of commands. */
  commands: number;
}

/** All actors that hold, wait for or lend a lock, by session and by actor key. */
export interface ActorTable {
  readonly byKey: Map<string, ActorLocks>;
  readonly bySession: Map<string, SessionLocks>;
  /** `Sessions.touched`: the sessions that gained their first row or lost their last one. */
  readonly touched: Set<string>;
  /** Unused rows to be reused: a row costs more to create than its lock. */
  readonly spare: ActorLocks[];
}

const spareRowsMax = 256;

export function actorTable(touched: Set<string>): ActorTable {
  return { byKey: new Map(), bySession: new Map(), touched, spare: [] };
}

/** Returns the row of the actor itself, or of the command that `actor` is. */
export function locksOf(table: ActorTable, actor: Actor): ActorLocks | undefined {
  return table.byKey.get(actorKey(actor));
}

/** Returns the rows of the actor and of its commands. A command has only its own. Sorted as `rowsOfSession`. */
export function rowsOfActor(table: ActorTable, actor: Actor): readonly ActorLocks[] {
  if (actor.command === undefined && hasCommands(table.bySession.get(actor.session)))
    return rowsOfSession(table, actor.session, actor.incarnation).filter(row => sameActor(row.actor, actor));
  const row = locksOf(table, actor);
  return row === undefined ? noRows : [row];
}

/**
 * Returns the rows that wait while this row's command waits. They are its actor's, and those of the commands that it runs
 * inside.
 */
export function rowsAround({ session, actor }: Pick<ActorLocks, "session" | "actor">): readonly ActorLocks[] {
  if (actor.command === undefined) return noRows;
  return [...session.rows].filter(row => runsInside(actor, row.actor));
}

/** Returns the rows of waiting commands that run inside this row's actor or command, which waits for their ends. */
export function waitingInside({ session, actor }: ActorLocks): readonly ActorLocks[] {
  if (session.commands === 0) return noRows;
  return [...session.rows].filter(row => row.attached > 0 && runsInside(row.actor, actor));
}

/** Whether the actor or command waits, by itself or for a command inside it. */
export function isWaiting(row: ActorLocks): boolean {
  return row.attached > 0 || waitingInside(row).length > 0;
}

const noRows: readonly ActorLocks[] = [];

function hasCommands(session: SessionLocks | undefined): boolean {
  return session !== undefined && session.commands > 0;
}

/** Returns the row of the lock's holder, or of the waiter's actor. */
export function rowOf(of: { readonly actor: Actor; readonly row: ActorLocks | null }): ActorLocks {
  assert(of.row !== null, () => `no row for ${of.actor.session}`);
  return of.row;
}

/** Returns the actor's row, and creates it if missing; `dropIfIdle` removes it again. */
export function enlist(table: ActorTable, actor: Actor): ActorLocks {
  const key = actorKey(actor);
  const known = table.byKey.get(key);
  if (known !== undefined) return known;
  const session = table.bySession.get(actor.session) ?? emptySession();
  const row = table.spare.pop() ?? emptyRow(actor, session);
  row.actor = actor;
  row.session = session;
  table.byKey.set(key, row);
  if (session.rows.size === 0) {
    table.bySession.set(actor.session, session);
    table.touched.add(actor.session);
  }
  session.rows.add(row);
  if (actor.command !== undefined) session.commands += 1;
  return row;
}

function emptySession(): SessionLocks {
  return { rows: new Set(), held: 0, queued: 0, commands: 0 };
}

/** Returns the actor's row. If it has none, returns an empty one if commands in its session may matter, else null. */
export function rowOrEmpty(table: ActorTable, actor: Actor): ActorLocks | null {
  const known = locksOf(table, actor);
  if (known !== undefined) return known;
  const session = table.bySession.get(actor.session);
  const mayMatter = session !== undefined && (actor.command !== undefined || session.commands > 0);
  return mayMatter ? emptyRow(actor, session) : null;
}

function emptyRow(actor: Actor, session: SessionLocks): ActorLocks {
  const [holds, turnHolds, flying, lent] = [
    new HeldKeys(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ];
  const [waits, turnWaits] = [new Set<number>(), new Set<number>()];
  const [wanted, ahead, behind] = [new Map(), new Map(), new Map()];
  return {
    actor,
    session,
    holds,
    turnHolds,
    flying,
    wanted,
    lent,
    waits,
    turnWaits,
    attached: 0,
    ahead,
    behind,
  };
}

export function dropIfIdle(table: ActorTable, row: ActorLocks): void {
  if (row.holds.size > 0 || row.waits.size > 0 || row.lent.size > 0) return;
  table.byKey.delete(actorKey(row.actor));
  row.session.rows.delete(row);
  if (row.actor.command !== undefined) row.session.commands -= 1;
  if (row.session.rows.size === 0) {
    table.bySession.delete(row.actor.session);
    table.touched.add(row.actor.session);
  }
  if (table.spare.length < spareRowsMax) table.spare.push(row);
}

/** Returns how many locks a session has, and how many files it waits for. */
export function countOfSession(table: ActorTable, session: string): Pick<SessionLocks, "held" | "queued"> {
  return table.bySession.get(session) ?? nothing;
}

const nothing = { held: 0, queued: 0 };

/**
 * Returns the rows of a session, or of one `incarnation`. Sorted, because replay must visit them in the same order
 * as live, and the index's order differs.
 */
export function rowsOfSession(table: ActorTable, session: string, incarnation: number | null): ActorLocks[] {
  const rows = [...(table.bySession.get(session)?.rows ?? [])];
  const own = incarnation === null ? rows : rows.filter(row => row.actor.incarnation === incarnation);
  return own.length < 2 ? own : own.sort((a, b) => (actorKey(a.actor) < actorKey(b.actor) ? -1 : 1));
}

// Finds locks and waiters by the path that a request spelled.

/**
 * Index of locks or waiters by the path as the request spelled it, if that differs from the key's path (a symbolic
 * link, another case). Invariant: an entry whose spelling equals its key's path is not in here; its key finds it.
 */
export class OtherWords<Id extends string | number> {
  readonly #ids: Sets<string, Id> = new Map();

  add(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    if (!isOwnPath(file)) addToSet(this.#ids, file.lexical, id);
  }

  remove(file: Pick<FileRef, "lexical" | "key">, id: Id): void {
    if (this.#ids.size > 0) removeFromSet(this.#ids, file.lexical, id);
  }

  /** Returns the ids under this spelling, sorted, so that the result does not depend on the order of insertion. */
  at(lexical: string): readonly Id[] {
    const ids = this.#ids.get(lexical);
    return ids === undefined ? [] : [...ids].sort((a, b) => (a < b ? -1 : 1));
  }

  /** Returns all entries as text, sorted. */
  describe(): readonly string[] {
    return [...this.#ids.keys()].sort().map(lexical => `${lexical}: ${this.at(lexical).join(" ")}`);
  }
}

/** Returns the key that a path has if it holds no symbolic link and the node folds no case. */
export function plainKey(node: string, lexical: string): string {
  return `${node}:${lexical}`;
}

function isOwnPath({ lexical, key }: Pick<FileRef, "lexical" | "key">): boolean {
  return key.endsWith(lexical) && key.indexOf(":") === key.length - lexical.length - 1;
}

// The log's commands for locks, and for the writes in flight under them.

export type LockKind = "explicit" | "turn";

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
  /**
   * The end of that write may never be told: this long after the grant, in milliseconds, it counts from as an unused lock
   * does. Absent: its end, or that of its turn, is told.
   */
  readonly untoldMs?: number;
  /** The actor's earlier writes may not have begun yet, so they stay in flight. Absent: they have ended. */
  readonly beside?: true;
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
interface LockDetach {
  readonly waiter: Origin;
  readonly kept?: Retry;
}

/**
 * The answer to a grant was not delivered: `waiter` is its origin, `keys` are the keys of its files, `kept` is as in
 * `LockDetach`.
 */
interface LockUndelivered {
  readonly waiter: Origin;
  readonly actor: Actor;
  readonly keys: readonly string[];
  readonly kept?: Retry;
}

export interface LockRelease {
  readonly actor: Actor;
  readonly files: readonly FileName[] | "all";
  readonly retry?: Retry;
}

/** Takes locks from their holders by force; an event tells each holder and names `by`. */
interface LockRevoke {
  readonly by: string;
  readonly files: readonly FileName[];
  readonly retry?: Retry;
}

/** A connection with bound locks closed. */
interface LockUnbind {
  readonly bound: Bound;
}

/** Releases the actor's turn locks, except those of `keepPrompt`. */
interface TurnEnd {
  readonly actor: Actor;
  readonly keepPrompt: string | null;
  /** The turn ended then (core time), and nobody heard of it: what began later stays. Absent: it ends now. */
  readonly untilMs?: number;
}

/** A write in flight ended, or with `flight: null` all of the actor's did. */
interface FlightEnd {
  readonly actor: Actor;
  readonly flight: string | null;
  /** Whether the tool wrote the file. */
  readonly wrote: boolean;
  /** The file that was written, if it is in a repository. */
  readonly noted?: WriteNote;
}

/** A permission dialog opened for the actor's write in flight, which renews its lease once. */
interface LeaseRenew {
  readonly actor: Actor;
}

/** What the actor's client shows of its writes in flight that this start did not see begin: see `locks/writes.ts`. */
interface FlightUnseen {
  readonly actor: Actor;
  readonly now: "waits" | "runs" | "over";
}

/** These commands by name. */
export interface LockCommands {
  lock_request: LockRequest;
  lock_detach: LockDetach;
  lock_undelivered: LockUndelivered;
  lock_release: LockRelease;
  lock_revoke: LockRevoke;
  lock_unbind: LockUnbind;
  turn_end: TurnEnd;
  flight_end: FlightEnd;
  lease_renew: LeaseRenew;
  flight_unseen: FlightUnseen;
}

export interface OfWaiter {
  readonly ticket: number;
}

export interface OfLock {
  readonly key: string;
  /** The `grant` of the lock's first token. */
  readonly first: number;
}

/** The timers of locks. */
export interface LockDues {
  wait_over: OfWaiter;
  place_over: OfWaiter;
  turn_lease_over: OfLock;
  resource_lease_over: OfLock;
  yield_over: OfLock;
  unseen_over: OfLock;
  bound_over: OfLock;
  /** A step left free waiters ungranted: `limits.grantsPerStepMax`. */
  grants_left: object;
}
