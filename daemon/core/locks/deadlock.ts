/**
 * Cycles of waits: found before a request closes one, and wherever a change has closed one.
 *
 * A cycle runs along holds that do not end by themselves and along places in line; a turn hold without a write in
 * flight yields. Nothing here looks at what the actors wait for besides: only at who waits for whom, and only where
 * somebody comes to wait for somebody new. An actor without a row has nothing, so nobody waits for him.
 */

import { type Actor, sameActor } from "../actor.ts";
import type { LockRequest } from "../commands.ts";
import type { FileRef } from "../file-ref.ts";
import type { Locks, Waiter } from "../state.ts";
import { type Ask, blockers, isCovered, mustGiveUp, requestsOver, type Wanted } from "./blockers.ts";
import { type ActorLocks, type Edge, locksOf, rowOf } from "./by-actor.ts";
import { firstOf, leads, pathOf } from "./wait-graph.ts";

/** One step of a cycle: `actor` waits for `file`, behind the next one's actor. */
export interface CycleStep {
  readonly actor: Actor;
  readonly file: string;
}

/** Those that a request waits for, each with the first file of theirs. */
type Ahead = ReadonlyMap<ActorLocks, FileRef>;
/** Those that would wait for an actor, each with a request that would. */
type Behind = ReadonlyMap<ActorLocks, Wanted>;

/** The cycle that the request would close by waiting in line, or null. */
export function cycleByWaiting(locks: Locks, ask: Ask): CycleStep[] | null {
  const me = locksOf(locks.actors, ask.actor);
  if (me === undefined) return null;
  const ahead = aheadOf(locks, ask);
  return leads(newAhead(me, ahead), [me]) ? described(locks, me, ahead, new Map()) : null;
}

/** The cycle that a detached request would close by taking its place in line again, or null. */
export function cycleByReturning(locks: Locks, place: Waiter): CycleStep[] | null {
  const me = rowOf(place);
  const ahead = aheadOf(locks, place);
  const behind = newlyBehind(locks, me, place.files, other => {
    return other.waiter.ticket > place.ticket && !isCovered(locks, other.waiter, other.file);
  });
  const others = [...behind.keys()];
  const closes = leads(newAhead(me, ahead), [me, ...others]) || leads([me], others);
  return closes ? described(locks, me, ahead, behind) : null;
}

/**
 * The cycle that a grant would close, or null: it can where its holder waits elsewhere, since what comes from an
 * ancestor comes past the line, and a turn hold that becomes explicit yields no more.
 */
export function cycleByGrant(
  locks: Locks,
  taker: Pick<LockRequest, "actor" | "files" | "kind" | "flight">,
): CycleStep[] | null {
  const { actor, files, kind, flight } = taker;
  if (locks.waiters.size === 0 || (kind === "turn" && flight === null)) return null;
  const me = locksOf(locks.actors, actor);
  if (me === undefined || me.ahead.size === 0) return null;
  const passes = ({ waiter: { actor: other, ancestors } }: Wanted) =>
    flight === null &&
    other.session === actor.session &&
    other.incarnation === actor.incarnation &&
    ancestors.includes(actor.agent);
  const behind = newlyBehind(locks, me, files, other => !passes(other));
  return leads([me], [...behind.keys()]) ? described(locks, me, new Map(), behind) : null;
}

/** The cycle that the edge is part of, beginning with who waits there, or null. */
export function cycleOf(locks: Locks, { from, to }: Edge): CycleStep[] | null {
  if (!leads([to], [from])) return null;
  const path = pathOf(to, [from]) ?? [];
  return [from, ...path].slice(0, -1).map((at, i) => stepOf(locks, at, path[i] ?? from));
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

/** Those for whom the actor does not wait already. */
function newAhead(me: ActorLocks, ahead: Ahead): ActorLocks[] {
  return [...ahead.keys()].filter(to => !me.ahead.has(to));
}

/** Those that would come to wait for the actor, if it had the files, and do not do so already. */
function newlyBehind(
  locks: Locks,
  me: ActorLocks,
  files: readonly FileRef[],
  isBehind: (other: Wanted) => boolean,
): Behind {
  const behind = new Map<ActorLocks, Wanted>();
  for (const file of files) {
    for (const other of requestsOver(locks, file)) {
      if (other.waiter.origin === null || sameActor(other.waiter.actor, me.actor)) continue;
      const from = rowOf(other.waiter);
      if (!me.behind.has(from) && !behind.has(from) && isBehind(other)) behind.set(from, other);
    }
  }
  return behind;
}

/** The cycle through an actor that would wait for those `ahead` and have those `behind` wait for it. */
function described(locks: Locks, me: ActorLocks, ahead: Ahead, behind: Behind): CycleStep[] {
  const path = pathOf(me, [me, ...behind.keys()], [...ahead.keys()]);
  if (path === null) throw new Error(`no cycle leads through ${me.actor.session}`);
  const steps = path.slice(0, -1).map((at, i) => {
    const next = path[i + 1] ?? me;
    const file = i === 0 ? ahead.get(next) : undefined;
    return file === undefined ? stepOf(locks, at, next) : { actor: me.actor, file: file.file };
  });
  const last = behind.get(path.at(-1) ?? me);
  return last === undefined ? steps : [...steps, { actor: last.waiter.actor, file: last.file.file }];
}

/** The first request of `from` that stands behind `to`, and the file for which it does. */
function stepOf(locks: Locks, from: ActorLocks, to: ActorLocks): CycleStep {
  const edge = from.ahead.get(to);
  const waiter = edge === undefined ? undefined : locks.waiters.get(firstOf(edge));
  const file = waiter === undefined ? undefined : aheadOf(locks, waiter).get(to);
  if (waiter === undefined || file === undefined)
    throw new Error(`${from.actor.session} does not wait for ${to.actor.session}`);
  return { actor: waiter.actor, file: file.file };
}
