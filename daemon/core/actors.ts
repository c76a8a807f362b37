import type { Actor, Bound, Origin } from "./entry.ts";

/** What one actor holds and waits for; derived from holds and waiters. */
export interface ActorLocks {
  readonly actor: Actor;
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
  readonly bySession: Map<string, Set<string>>;
}

export function actorTable(): ActorTable {
  return { byKey: new Map(), bySession: new Map() };
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
  const row: ActorLocks = { actor, holds: new Set(), waits: new Set(), spelled: new Map() };
  table.byKey.set(key, row);
  const siblings = table.bySession.get(actor.session);
  if (siblings === undefined) table.bySession.set(actor.session, new Set([key]));
  else siblings.add(key);
  return row;
}

export function dropIfIdle(table: ActorTable, row: ActorLocks): void {
  if (row.holds.size > 0 || row.waits.size > 0) return;
  const key = actorKey(row.actor);
  table.byKey.delete(key);
  const siblings = table.bySession.get(row.actor.session);
  siblings?.delete(key);
  if (siblings?.size === 0) table.bySession.delete(row.actor.session);
}

/**
 * The rows of a session, with `incarnation` only that one's; sorted, since what is done in their order must not depend
 * on how the index came to be.
 */
export function rowsOfSession(table: ActorTable, session: string, incarnation: number | null): ActorLocks[] {
  const rows: ActorLocks[] = [];
  for (const key of [...(table.bySession.get(session) ?? [])].sort()) {
    const row = table.byKey.get(key);
    if (row !== undefined && (incarnation === null || row.actor.incarnation === incarnation)) rows.push(row);
  }
  return rows;
}
