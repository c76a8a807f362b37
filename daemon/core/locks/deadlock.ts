/**
 * Finds wait-for cycles: before a request closes one, and after a change has closed one.
 *
 * Invariants: a cycle consists of locks that do not yield and of queue positions; a turn lock without a write in flight
 * yields, so it is in no cycle. The search follows actors only, and starts only from new edges. An actor without
 * a row has no lock and no waiter, so no actor waits for it; but what runs a command waits for it.
 */

import { type Actor, areBeside, runsInside } from "../actor.ts";
import { assert } from "../assert.ts";
import type { Locks, Waiter } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";
import { type Ask, blockers, isCovered, isMine, mustGiveUp, requestsOver, type Wanted } from "./blockers.ts";
import {
  type ActorLocks,
  type Edge,
  locksOf,
  rowOf,
  rowOrEmpty,
  rowsAround,
  waitingInside,
} from "./by-actor.ts";
import type { LockRequest } from "./commands.ts";
import { firstOf, leads, pathOf } from "./wait-graph.ts";

/** One step of a cycle: `actor` waits for `file` behind `other`, which waits for the next step's actor or is it. */
export interface CycleStep {
  readonly actor: Actor;
  readonly file: string;
  readonly other: Actor;
}

/** The actors that a request waits for, each with the first file that they block. */
type Ahead = ReadonlyMap<ActorLocks, FileRef>;
/** The actors that would wait for an actor, each with its first request that would. */
type Behind = ReadonlyMap<ActorLocks, Wanted>;

/** Returns the cycle that the request would close by waiting, or null. */
export function cycleByWaiting(locks: Locks, ask: Ask): CycleStep[] | null {
  const me = rowOrEmpty(locks.actors, ask.actor);
  if (me === null) return null;
  const ahead = aheadOf(locks, ask);
  const closes = leads(newAhead(me, ahead), [me, ...rowsAround(me)]);
  return closes ? described(locks, me, ahead, new Map()) : null;
}

/** Returns the cycle that a detached waiter would close by attaching again, or null. */
export function cycleByReturning(locks: Locks, place: Waiter): CycleStep[] | null {
  const me = rowOf(place);
  const ahead = aheadOf(locks, place);
  const behind = newlyBehind(locks, me, place.files, other => {
    return other.waiter.ticket > place.ticket && !isCovered(locks, other.waiter, other.file);
  });
  const others = [...behind.keys()];
  const closes = leads(newAhead(me, ahead), [me, ...rowsAround(me), ...others]) || leads([me], others);
  return closes ? described(locks, me, ahead, behind) : null;
}

/**
 * Returns the cycle that a grant would close, or null. A grant closes one only if its holder waits for another lock:
 * an ancestor's lock passes the queue, and a turn lock made explicit no longer yields.
 */
export function cycleByGrant(
  locks: Locks,
  taker: Pick<LockRequest, "actor" | "files" | "kind" | "flight">,
): CycleStep[] | null {
  const { actor, files, kind, flight } = taker;
  if (locks.waiters.size === 0 || (kind === "turn" && flight === null)) return null;
  const me = rowOrEmpty(locks.actors, actor);
  if (me === null || (me.ahead.size === 0 && waitingInside(me).length === 0)) return null;
  const passes = ({ waiter: { actor: other, ancestors } }: Wanted) =>
    flight === null &&
    !areBeside(other, actor) &&
    other.session === actor.session &&
    other.incarnation === actor.incarnation &&
    ancestors.includes(actor.agent);
  const taken = files.filter(file => !staysInside(locks, file, taker));
  const behind = newlyBehind(locks, me, taken, other => !passes(other));
  return leads([me], [...behind.keys()]) ? described(locks, me, new Map(), behind) : null;
}

/** Whether a command of the actor has the file, and keeps it while the actor writes. */
function staysInside(
  { holds }: Locks,
  { key }: FileRef,
  { actor, kind }: Pick<LockRequest, "actor" | "kind">,
): boolean {
  const hold = holds.get(key);
  return kind === "turn" && hold !== undefined && runsInside(hold.actor, actor);
}

/** Returns the cycle that the edge is part of, beginning with its waiting actor, or null. */
export function cycleOf(locks: Locks, { from, to }: Edge): CycleStep[] | null {
  if (!leads([to], [from])) return null;
  const path = pathOf(to, [from]) ?? [];
  return [from, ...path].slice(0, -1).flatMap((at, i) => stepOf(locks, at, path[i] ?? from));
}

function aheadOf(locks: Locks, ask: Ask): Ahead {
  const ahead = new Map<ActorLocks, FileRef>();
  for (const blocker of blockers(locks, ask)) {
    const actors = blocker.by === "place" ? [blocker.actor] : mustGiveUp(blocker.hold, ask.actor);
    for (const actor of actors) {
      const row = locksOf(locks.actors, actor);
      if (row !== undefined && !ahead.has(row)) ahead.set(row, blocker.file);
    }
  }
  return ahead;
}

/** Returns the actors of `ahead` for whom `me` does not wait yet. */
function newAhead(me: ActorLocks, ahead: Ahead): ActorLocks[] {
  return [...ahead.keys()].filter(to => !me.ahead.has(to));
}

/** Returns the actors that do not wait for `me` yet, but would if `me` had the files. */
function newlyBehind(
  locks: Locks,
  me: ActorLocks,
  files: readonly FileRef[],
  isBehind: (other: Wanted) => boolean,
): Behind {
  const behind = new Map<ActorLocks, Wanted>();
  for (const file of files) {
    for (const other of requestsOver(locks, file)) {
      if (other.waiter.origin === null || isMine(me.actor, other.waiter.actor)) continue;
      const from = rowOf(other.waiter);
      if (!me.behind.has(from) && !behind.has(from) && isBehind(other)) behind.set(from, other);
    }
  }
  return behind;
}

/** Returns the cycle through `me` if `me` waited for the actors `ahead`, and the actors `behind` waited for `me`. */
function described(locks: Locks, me: ActorLocks, ahead: Ahead, behind: Behind): CycleStep[] {
  const path = pathOf(me, [me, ...rowsAround(me), ...behind.keys()], [...ahead.keys()]);
  assert(path !== null, () => `no cycle leads through ${me.actor.session}`);
  const steps = path.slice(0, -1).flatMap((at, i) => {
    const next = path[i + 1] ?? me;
    const file = i === 0 ? ahead.get(next) : undefined;
    if (file === undefined) return stepOf(locks, at, next);
    return { actor: me.actor, file: file.file, other: next.actor };
  });
  const last = behind.get(path.at(-1) ?? me);
  if (last === undefined) return steps;
  return [...steps, { actor: last.waiter.actor, file: last.file.file, other: me.actor }];
}

/** Returns the actor `from` and the file for which its first request waits for `to`; nothing if `from` runs `to`. */
function stepOf(locks: Locks, from: ActorLocks, to: ActorLocks): CycleStep[] {
  const edge = from.ahead.get(to);
  if (edge === undefined && runsInside(to.actor, from.actor)) return [];
  const waiter = edge === undefined ? undefined : locks.waiters.get(firstOf(edge));
  const file = waiter === undefined ? undefined : aheadOf(locks, waiter).get(to);
  if (waiter === undefined || file === undefined)
    throw new Error(`${from.actor.session} does not wait for ${to.actor.session}`);
  return [{ actor: waiter.actor, file: file.file, other: to.actor }];
}
