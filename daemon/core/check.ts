/** The invariants of every slice as one function: what a simulation asks after each step. */
import { actorKey, sameActor } from "./actors.ts";
import { findCycle, firstBlocker } from "./lock-blockers.ts";
import { nameKey } from "./sessions.ts";
import { rebuiltIndexes } from "./snapshot.ts";
import type { Hold, Locks, State } from "./state.ts";

/** What is wrong with the state, a sentence each; nothing when all invariants hold. */
export function check(state: State): string[] {
  return [...checkSessions(state), ...checkHolds(state), ...checkLine(state), ...checkIndexes(state.locks)];
}

function* checkSessions(state: State): Generator<string> {
  const names = new Set<string>();
  for (const session of state.sessions.live.values()) {
    if (session.incarnations.length === 0) yield `session ${session.id} has no incarnation`;
    if (new Set(session.incarnations.map(i => i.ordinal)).size !== session.incarnations.length) {
      yield `session ${session.id} has two incarnations of one ordinal`;
    }
    const name = nameKey(session.project, session.name);
    if (names.has(name)) yield `two sessions are called ${session.name}`;
    names.add(name);
    if (state.sessions.names.get(name) !== session.id) yield `the name ${session.name} is not indexed`;
    if (state.sessions.ended.has(session.id)) yield `session ${session.id} is live and ended`;
    if (session.lostAt !== null && session.incarnations.some(i => i.anchor !== null)) {
      yield `session ${session.id} has an anchor and is lost`;
    }
  }
  if (state.sessions.names.size !== names.size) yield "names of nobody are indexed";
}

function* checkHolds(state: State): Generator<string> {
  const { locks } = state;
  for (const hold of locks.holds.values()) {
    const { actor, key } = hold;
    if (!isAlive(state, actor.session, actor.incarnation))
      yield `${key} is held by ${actor.session}, which is not alive`;
    if (hold.token.grant > locks.grants) yield `${key} has a token of the future`;
    if (hold.token.grant < hold.first.grant) yield `${key} has a token older than its first`;
    for (const other of locks.heldPaths.overlapping(key, hold.dir)) {
      const beside = locks.holds.get(other);
      const isFamily = beside !== undefined && (sameActor(beside.actor, actor) || related(hold, beside));
      if (!isFamily) yield `${key} and ${other} overlap with two holders`;
    }
  }
}

/** An ancestor keeps a directory in which a descendant holds a file, or the other way round. */
function related(a: Hold, b: Hold): boolean {
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}

function* checkLine(state: State): Generator<string> {
  const { locks } = state;
  let last = 0;
  for (const waiter of locks.waiters.values()) {
    if (waiter.ticket <= last) yield `ticket ${waiter.ticket} stands behind ${last}`;
    last = waiter.ticket;
    const { session, incarnation } = waiter.actor;
    if (!isAlive(state, session, incarnation)) yield `${session} waits and is not alive`;
    for (const file of waiter.files) {
      const hold = locks.holds.get(file.key);
      const part = hold !== undefined && sameActor(hold.actor, waiter.actor) && hold.token.grant > 0;
      if (
        part &&
        waiter.origin !== null &&
        hold.origin.n === waiter.origin.n &&
        hold.origin.epoch === waiter.origin.epoch
      ) {
        yield `ticket ${waiter.ticket} waits for a set of which it took ${file.key}`;
      }
    }
    if (waiter.origin === null) continue;
    if (firstBlocker(locks, waiter) === null) yield `ticket ${waiter.ticket} waits for what is free`;
    if (findCycle(locks, waiter) !== null) yield `ticket ${waiter.ticket} waits in a circle`;
  }
}

function* checkIndexes(locks: Locks): Generator<string> {
  const fresh = rebuiltIndexes(locks);
  const same = (name: string, a: unknown, b: unknown) =>
    flat(a) === flat(b) ? [] : [`the index ${name} is wrong`];
  yield* same("waitersAt", locks.waitersAt, fresh.waitersAt);
  yield* same("byOrigin", locks.byOrigin, fresh.byOrigin);
  yield* same("byBound", locks.byBound, fresh.byBound);
  yield* same("actors", actorsOf(locks), actorsOf(fresh));
  yield* checkSpelled(locks);
  yield* same("heldPaths", locks.heldPaths.describe(), fresh.heldPaths.describe());
  yield* same("waitedPaths", locks.waitedPaths.describe(), fresh.waitedPaths.describe());
}

function* checkSpelled(locks: Locks): Generator<string> {
  for (const row of locks.actors.byKey.values()) {
    for (const [lexical, key] of row.spelled) {
      if (locks.holds.get(key)?.lexical !== lexical)
        yield `${lexical} is indexed for ${key}, which is not spelled so`;
    }
  }
}

function actorsOf(locks: Locks): unknown {
  return [...locks.actors.byKey.values()].map(row => [
    actorKey(row.actor),
    [...row.holds].sort(),
    [...row.waits],
    locks.actors.bySession.get(row.actor.session)?.has(actorKey(row.actor)) ?? false,
  ]);
}

/** Maps and sets as sorted text, so that two that hold the same compare equal. */
function flat(value: unknown): string {
  if (value instanceof Map)
    return `{${[...value]
      .map(([k, v]) => `${k}=${flat(v)}`)
      .sort()
      .join(",")}}`;
  if (value instanceof Set) return `[${[...value].map(flat).sort().join(",")}]`;
  if (Array.isArray(value)) return `(${value.map(flat).sort().join(",")})`;
  return String(value);
}

function isAlive(state: State, session: string, incarnation: number): boolean {
  return state.sessions.live.get(session)?.incarnations.some(i => i.ordinal === incarnation) ?? false;
}
