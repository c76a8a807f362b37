/**
 * What each actor holds and waits for; derived from holds and waiters.
 *
 * Invariant: an actor's row exists exactly while it holds, waits or lends; a session's counts are those of the held keys
 * and of the files in the requests of all its rows.
 */
import { type Actor, actorKey } from "../actor.ts";
import type { SortedKeys } from "../sorted-keys.ts";

export interface ActorLocks {
  actor: Actor;
  /** The rows of its session. */
  session: SessionLocks;
  /** Held keys, in the order they were taken. */
  readonly holds: Set<string>;
  /** Held keys that the end of its turn frees, and tickets that it ends; in the same order. */
  readonly turnHolds: Set<string>;
  readonly turnWaits: Set<number>;
  /** Held keys with writes in flight. */
  readonly flying: Set<string>;
  /** Held keys that yield while others wait, with the number of files of those who do. */
  readonly wanted: Map<string, number>;
  /** Keys of its explicit holds that descendants use. */
  readonly lent: Set<string>;
  /** Tickets, in the order of the line. */
  readonly waits: Set<number>;
  /** How many of them somebody listens for. */
  attached: number;
  /** For whom they wait, and who waits for this actor; see `wait-graph.ts`. */
  readonly ahead: Map<ActorLocks, Edge>;
  readonly behind: Map<ActorLocks, Edge>;
}

/** Requests of one actor that need another one to act first. */
export interface Edge {
  readonly from: ActorLocks;
  readonly to: ActorLocks;
  /** The tickets of the requests, with how often each stands behind `to`. */
  readonly tickets: Map<number, number>;
  /** The same tickets in the order of the line (`placeOf`), once somebody asked for the first. */
  line: SortedKeys | null;
}

export interface SessionLocks {
  readonly rows: Set<ActorLocks>;
  /** Held keys of all of them. */
  held: number;
  /** Files that their requests in line name. */
  queued: number;
}

/** All actors that hold, wait for or lend something, by session and key. */
export interface ActorTable {
  readonly byKey: Map<string, ActorLocks>;
  readonly bySession: Map<string, SessionLocks>;
  /** `Sessions.touched`: a session's first row came, or its last one went. */
  readonly touched: Set<string>;
  /** Rows of nobody, to be used again: a row costs more than the lock it is made for. */
  readonly spare: ActorLocks[];
}

const spareRowsMax = 256;

export function actorTable(touched: Set<string>): ActorTable {
  return { byKey: new Map(), bySession: new Map(), touched, spare: [] };
}

export function locksOf(table: ActorTable, actor: Actor): ActorLocks | undefined {
  return table.byKey.get(actorKey(actor));
}

/** The row of who holds or waits. */
export function rowOf(of: { readonly actor: Actor; readonly row: ActorLocks | null }): ActorLocks {
  if (of.row === null) throw new Error(`no row for ${of.actor.session}`);
  return of.row;
}

/** The actor's row, made if need be; `dropIfIdle` removes it again. */
export function enlist(table: ActorTable, actor: Actor): ActorLocks {
  const key = actorKey(actor);
  const known = table.byKey.get(key);
  if (known !== undefined) return known;
  const session = table.bySession.get(actor.session) ?? { rows: new Set(), held: 0, queued: 0 };
  const row = table.spare.pop() ?? emptyRow(actor, session);
  row.actor = actor;
  row.session = session;
  table.byKey.set(key, row);
  if (session.rows.size === 0) {
    table.bySession.set(actor.session, session);
    table.touched.add(actor.session);
  }
  session.rows.add(row);
  return row;
}

function emptyRow(actor: Actor, session: SessionLocks): ActorLocks {
  const [holds, turnHolds, flying, lent] = [
    new Set<string>(),
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
  if (row.session.rows.size === 0) {
    table.bySession.delete(row.actor.session);
    table.touched.add(row.actor.session);
  }
  if (table.spare.length < spareRowsMax) table.spare.push(row);
}

/** How many locks a session has, and how many files it waits for. */
export function countOfSession(table: ActorTable, session: string): Pick<SessionLocks, "held" | "queued"> {
  return table.bySession.get(session) ?? nothing;
}

const nothing = { held: 0, queued: 0 };

/**
 * The rows of a session, with `incarnation` only that one's; sorted, since what is done in their order must not depend
 * on how the index came to be.
 */
export function rowsOfSession(table: ActorTable, session: string, incarnation: number | null): ActorLocks[] {
  const rows = [...(table.bySession.get(session)?.rows ?? [])];
  const own = incarnation === null ? rows : rows.filter(row => row.actor.incarnation === incarnation);
  return own.length < 2 ? own : own.sort((a, b) => (actorKey(a.actor) < actorKey(b.actor) ? -1 : 1));
}
