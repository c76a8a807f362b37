/** The invariants of locks and waiters; part of `check`. */
import { actorKey, areBeside, sameActor } from "../actor.ts";
import { type BaseState, type Hold, type Locks, noLocks } from "../base-state.ts";
import { Preimages } from "../preimages.ts";
import { isSame } from "../same-index.ts";
import { isAlive } from "../sessions/kinship.ts";
import { firstBlocker } from "./blockers.ts";
import type { ActorLocks } from "./by-actor.ts";
import { cycleOf } from "./deadlock.ts";
import { addHold, addWaiter } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkLocks(state: BaseState): Generator<string> {
  yield* checkHolds(state);
  yield* checkLine(state);
  yield* checkIndexes(state.locks);
}

function* checkHolds(state: BaseState): Generator<string> {
  const { locks } = state;
  let last = 0;
  for (const hold of locks.holds.values()) {
    const { actor, key } = hold;
    if (hold.place < last) yield `${key} stands in the wrong place`;
    last = hold.place;
    if (!isAlive(state, actor)) yield `${key} is held by ${actor.session}, which is not alive`;
    if (hold.token.grant > locks.grants) yield `${key} has a token of the future`;
    if (hold.token.grant < hold.first.grant) yield `${key} has a token older than its first`;
    for (const other of locks.heldPaths.overlapping(key, hold.dir)) {
      const beside = locks.holds.get(other);
      const isFamily = beside !== undefined && (sameActor(beside.actor, actor) || related(hold, beside));
      if (!isFamily) yield `${key} and ${other} overlap with two holders`;
      else if (areBeside(beside.actor, actor))
        yield `${key} and ${other} overlap with two commands of a session`;
    }
  }
}

/** Whether one holder is the other's ancestor: it may hold a directory in which its descendant holds a file. */
function related(a: Hold, b: Hold): boolean {
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}

function* checkLine(state: BaseState): Generator<string> {
  const { locks } = state;
  let last = 0;
  for (const waiter of locks.waiters.values()) {
    if (waiter.ticket <= last) yield `ticket ${waiter.ticket} stands behind ${last}`;
    last = waiter.ticket;
    if (!isAlive(state, waiter.actor)) yield `${waiter.actor.session} waits and is not alive`;
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
  }
}

function* checkIndexes(locks: Locks): Generator<string> {
  const fresh = rebuiltIndexes(locks);
  const same = (name: string, a: unknown, b: unknown) => (isSame(a, b) ? [] : [`the index ${name} is wrong`]);
  yield* same("waitersAt", locks.waitersAt, fresh.waitersAt);
  yield* same("byOrigin", locks.byOrigin, fresh.byOrigin);
  yield* same("byBound", locks.byBound, fresh.byBound);
  yield* same("actors", actorsOf(locks), actorsOf(fresh));
  yield* same("blockers", blockersOf(locks), blockersOf(fresh));
  yield* same("free", locks.graph.freeCount, fresh.graph.freeCount);
  for (const name of ["heldPaths", "waitedPaths", "heldWords", "waitedWords"] as const)
    yield* same(name, locks[name].describe(), fresh[name].describe());
  for (const edge of fresh.graph.fresh) {
    if (cycleOf(fresh, edge) !== null) yield `ticket ${[...edge.tickets.keys()].join()} waits in a cycle`;
  }
  if (locks.graph.fresh.size > 0) yield "nobody looked whether a new wait closes a cycle";
}

/** Returns the locks with their derived fields rebuilt from holds and waiters, to compare with the live ones. */
function rebuiltIndexes(locks: Locks): Locks {
  const fresh = noLocks(new Set(), new Preimages());
  for (const hold of locks.holds.values()) addHold(fresh, { ...hold });
  for (const waiter of locks.waiters.values()) addWaiter(fresh, { ...waiter });
  return fresh;
}

function actorsOf({ actors }: Locks): ReadonlyMap<string, unknown> {
  return new Map(
    [...actors.byKey].map(([key, { actor, session, ahead, behind, holds, ...row }]) => {
      const listed = actors.bySession.get(actor.session) === session;
      const edges = [ahead, behind].map(
        side => new Map([...side.values()].map(({ from, to, tickets }) => [pairOf(from, to), tickets])),
      );
      return [
        key,
        {
          ...row,
          holds: new Set(holds),
          count: holds.size,
          own: actorKey(actor),
          held: session.held,
          queued: session.queued,
          rows: session.rows.size,
          commands: session.commands,
          listed,
          edges,
        },
      ];
    }),
  );
}

function pairOf(from: ActorLocks, to: ActorLocks): string {
  return `${actorKey(from.actor)} > ${actorKey(to.actor)}`;
}

function blockersOf({ waiters }: Locks): ReadonlyMap<number, number | null> {
  return new Map([...waiters.values()].map(({ ticket, blockers }) => [ticket, blockers]));
}
