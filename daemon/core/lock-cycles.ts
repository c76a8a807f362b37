/**
 * Cycles of waits: found before a request closes one, and wherever a change has closed one.
 *
 * A cycle runs along holds that do not end by themselves and along places in line; a turn hold without a write in
 * flight yields. Nothing here looks at what the actors wait for besides: only at who waits for whom, and only where
 * somebody comes to wait for somebody new.
 */
import { actorKey, sameActor } from "./actors.ts";
import type { Actor, FileRef, LockRequest } from "./entry.ts";
import { type Ask, blockers, isCovered, mustGiveUp, requestsOver, type Wanted } from "./lock-blockers.ts";
import { type Edge, firstOf } from "./lock-graph.ts";
import type { Locks, Waiter } from "./state.ts";

/** One step of a cycle: `actor` waits for `file`, behind the next one's actor. */
export interface CycleStep {
  readonly actor: Actor;
  readonly file: string;
}

/** The cycle that the request would close by waiting in line, or null. */
export function cycleByWaiting(locks: Locks, ask: Ask): CycleStep[] | null {
  const me = actorKey(ask.actor);
  const ahead = aheadOf(locks, ask);
  const fresh = [...ahead.keys()].filter(to => locks.graph.edge(me, to) === undefined);
  return locks.graph.leads(fresh, [me]) ? described(locks, ask.actor, ahead, new Map()) : null;
}

/** The cycle that a detached request would close by taking its place in line again, or null. */
export function cycleByReturning(locks: Locks, place: Waiter): CycleStep[] | null {
  const me = actorKey(place.actor);
  const ahead = aheadOf(locks, place);
  const behind = newlyBehind(locks, place, other => {
    return other.waiter.ticket > place.ticket && !isCovered(locks, other.waiter, other.file);
  });
  const { graph } = locks;
  const others = [...behind.keys()];
  const fresh = [...ahead.keys()].filter(to => graph.edge(me, to) === undefined);
  const closes = graph.leads(fresh, [me, ...others]) || graph.leads([me], others);
  return closes ? described(locks, place.actor, ahead, behind) : null;
}

/**
 * The cycle that a grant would close, or null: it can where its holder waits elsewhere, since what comes from an
 * ancestor comes past the line, and a turn hold that becomes explicit yields no more.
 */
export function cycleByGrant(
  locks: Locks,
  taker: Pick<LockRequest, "actor" | "files" | "kind" | "flight">,
): CycleStep[] | null {
  const { actor, kind, flight } = taker;
  if (locks.waiters.size === 0 || (kind === "turn" && flight === null)) return null;
  const passes = ({ waiter: { actor: other, ancestors } }: Wanted) =>
    flight === null &&
    other.session === actor.session &&
    other.incarnation === actor.incarnation &&
    ancestors.includes(actor.agent);
  const behind = newlyBehind(locks, taker, other => !passes(other));
  return locks.graph.leads([actorKey(actor)], [...behind.keys()])
    ? described(locks, actor, new Map(), behind)
    : null;
}

/** The cycle that the edge is part of, beginning with who waits there, or null. */
export function cycleOf(locks: Locks, { from, to }: Edge): CycleStep[] | null {
  if (!locks.graph.leads([to], [from])) return null;
  const path = locks.graph.path(to, [from]) ?? [];
  return [from, ...path].slice(0, -1).map((at, i) => stepOf(locks, at, path[i] ?? from));
}

/** Those that the request waits for, each with the first file of theirs. */
function aheadOf(locks: Locks, ask: Ask): Map<string, FileRef> {
  const ahead = new Map<string, FileRef>();
  for (const blocker of blockers(locks, ask)) {
    const actors = blocker.by === "place" ? [blocker.actor] : mustGiveUp(blocker.hold, ask.actor);
    for (const actor of actors) {
      const key = actorKey(actor);
      if (!ahead.has(key)) ahead.set(key, blocker.file);
    }
  }
  return ahead;
}

/** Those that would come to wait for the actor, if it had the files, each with the first file it waits for. */
function newlyBehind(
  locks: Locks,
  { actor, files }: Pick<Ask, "actor" | "files">,
  isBehind: (other: Wanted) => boolean,
): Map<string, Wanted> {
  const me = actorKey(actor);
  const behind = new Map<string, Wanted>();
  for (const file of files) {
    if (!locks.waitedPaths.touches(file.key, file.dir)) continue;
    for (const other of requestsOver(locks, file)) {
      const { origin, actor: whose } = other.waiter;
      if (origin === null || sameActor(whose, actor)) continue;
      const from = actorKey(whose);
      if (!behind.has(from) && locks.graph.edge(from, me) === undefined && isBehind(other))
        behind.set(from, other);
    }
  }
  return behind;
}

/** The cycle through `actor`, which would wait for those `ahead` and have those `behind` wait for it. */
function described(
  locks: Locks,
  actor: Actor,
  ahead: ReadonlyMap<string, FileRef>,
  behind: ReadonlyMap<string, Wanted>,
): CycleStep[] {
  const me = actorKey(actor);
  const path = locks.graph.path(me, [me, ...behind.keys()], [...ahead.keys()]);
  if (path === null) throw new Error(`no cycle leads through ${me}`);
  const steps = path.slice(0, -1).map((at, i) => {
    const file = i === 0 ? ahead.get(path[1] ?? "") : undefined;
    return file === undefined ? stepOf(locks, at, path[i + 1] ?? me) : { actor, file: file.file };
  });
  const last = behind.get(path.at(-1) ?? me);
  return last === undefined ? steps : [...steps, { actor: last.waiter.actor, file: last.file.file }];
}

/** The first request of `from` that stands behind `to`, and the file for which it does. */
function stepOf(locks: Locks, from: string, to: string): CycleStep {
  const edge = locks.graph.edge(from, to);
  const waiter = edge === undefined ? undefined : locks.waiters.get(firstOf(edge));
  const file = waiter === undefined ? undefined : aheadOf(locks, waiter).get(to);
  if (waiter === undefined || file === undefined) throw new Error(`${from} does not wait for ${to}`);
  return { actor: waiter.actor, file: file.file };
}
