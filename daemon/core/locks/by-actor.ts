/**
 * The index of locks and waiters by actor; derived from both. A command of an actor has a row of its own.
 *
 * Invariant: an actor's row exists exactly while the actor holds, waits for or lends a lock; a session counts the held
 * keys and the waited files of all its rows, and those rows that are of commands.
 */

import { type Actor, actorKey, runsInside, sameActor } from "../actor.ts";
import { assert } from "../assert.ts";
import type { SortedKeys } from "../sorted-keys.ts";
import { HeldKeys } from "./held-keys.ts";

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
  /** Edges to the actors it waits for, and from the actors that wait for it; see `wait-graph.ts`. */
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

export interface SessionLocks {
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

/** Returns the rows of the actor and of its commands; of a command only its own. Sorted as `rowsOfSession`. */
export function rowsOfActor(table: ActorTable, actor: Actor): readonly ActorLocks[] {
  if (actor.command === undefined && hasCommands(table.bySession.get(actor.session)))
    return rowsOfSession(table, actor.session, actor.incarnation).filter(row => sameActor(row.actor, actor));
  const row = locksOf(table, actor);
  return row === undefined ? noRows : [row];
}

/** Returns the rows that wait while this row's command waits: of its actor, and of the commands that it runs inside. */
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

/** Returns the actor's row; if it has none, an empty one where commands in its session may matter, else null. */
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
