import type { Actor, Bound, Origin } from "./entry.ts";

/** What one actor holds and waits for; derived from holds and waiters. */
export interface ActorLocks {
  actor: Actor;
  /** Held keys, in the order they were taken. */
  readonly holds: Set<string>;
  /** Tickets, in the order of the line. */
  readonly waits: Set<number>;
  /** Held keys by the words they were asked for with. */
  readonly spelled: Map<string, string>;
}

/** All actors that hold or wait for something, by session and key. */
export interface ActorTable {
  readonly byKey: Map<string, ActorLocks>;
  readonly bySession: Map<string, ActorLocks[]>;
  /** Rows of nobody, to be used again: a row costs more than the lock it is made for. */
  readonly spare: ActorLocks[];
}

const spareRowsMax = 256;

export function actorTable(): ActorTable {
  return { byKey: new Map(), bySession: new Map(), spare: [] };
}

/** One string an actor; the first incarnation's main agent is just its session id. */
export function actorKey(actor: Actor): string {
  const session = actor.incarnation === 0 ? actor.session : `${actor.session}\u0001${actor.incarnation}`;
  return actor.agent === null ? session : `${session}\u0000${actor.agent}`;
}

export function sameActor(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

export function originKey(origin: Origin): string {
  return `${origin.node} ${origin.epoch} ${origin.n}`;
}

export function boundKey(bound: Bound): string {
  return `${bound.node} ${bound.epoch} ${bound.connection}`;
}

export function locksOf(table: ActorTable, actor: Actor): ActorLocks | undefined {
  return table.byKey.get(actorKey(actor));
}

/** The actor's row, made if need be; `dropIfIdle` removes it again. */
export function enlist(table: ActorTable, actor: Actor): ActorLocks {
  const key = actorKey(actor);
  const known = table.byKey.get(key);
  if (known !== undefined) return known;
  const row = table.spare.pop() ?? { actor, holds: new Set(), waits: new Set(), spelled: new Map() };
  row.actor = actor;
  table.byKey.set(key, row);
  const siblings = table.bySession.get(actor.session);
  if (siblings === undefined) table.bySession.set(actor.session, [row]);
  else siblings.push(row);
  return row;
}

export function dropIfIdle(table: ActorTable, row: ActorLocks): void {
  if (row.holds.size > 0 || row.waits.size > 0) return;
  const { actor } = row;
  table.byKey.delete(actorKey(actor));
  const siblings = table.bySession.get(actor.session) ?? [];
  if (siblings.length > 1) siblings.splice(siblings.indexOf(row), 1);
  else table.bySession.delete(actor.session);
  if (table.spare.length < spareRowsMax && row.spelled.size === 0) table.spare.push(row);
}

/** How many locks and places in line a session has. */
export function countOfSession(table: ActorTable, session: string): number {
  let count = 0;
  for (const row of table.bySession.get(session) ?? []) count += row.holds.size + row.waits.size;
  return count;
}

/**
 * The rows of a session, with `incarnation` only that one's; sorted, since what is done in their order must not depend
 * on how the index came to be.
 */
export function rowsOfSession(table: ActorTable, session: string, incarnation: number | null): ActorLocks[] {
  const rows = table.bySession.get(session) ?? [];
  const own = incarnation === null ? [...rows] : rows.filter(row => row.actor.incarnation === incarnation);
  return own.length < 2 ? own : own.sort((a, b) => (actorKey(a.actor) < actorKey(b.actor) ? -1 : 1));
}
