/**
 * Keeps the graph of waits as holds and attached requests come, go and change. Each change looks at the requests for
 * that very path alone.
 *
 * A request stands behind a hold once for each of its files that overlap it, and behind an earlier request once for
 * each pair of their files that overlap, but not for a file that it has already (see `isCovered`).
 */
import { sameActor } from "../actor.ts";
import type { Hold, Locks, Waiter } from "../state.ts";
import {
  covers,
  isCovered,
  isOwn,
  lasts,
  lendersBut,
  lentBy,
  requestsOver,
  type Wanted,
} from "./blockers.ts";
import { type ActorLocks, locksOf, rowOf } from "./by-actor.ts";
import type { WaitGraph } from "./wait-graph.ts";

/** Of a relation: it begins, or it ends. */
type Way = "begins" | "ends";

/** The hold is there, or as it is from now on. */
export function holdEnters(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "ends");
    behindHold(locks, wanted, hold, "begins");
  }
}

/** The hold is about to go, or to be another one; it is as it was when it entered. */
export function holdLeaves(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    behindHold(locks, wanted, hold, "ends");
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "begins");
  }
}

/** Somebody listens for the request from now on. */
export function waiterEnters(locks: Locks, waiter: Waiter): void {
  rowOf(waiter).attached += 1;
  locks.graph.enter(waiter);
  relate(locks, waiter, "begins");
  locks.graph.entered(waiter);
}

/** Nobody will listen for the request any more; it is as it was when it entered. */
export function waiterLeaves(locks: Locks, waiter: Waiter): void {
  locks.graph.leave(waiter);
  relate(locks, waiter, "ends");
  rowOf(waiter).attached -= 1;
}

function relate(locks: Locks, waiter: Waiter, way: Way): void {
  for (const file of waiter.files) {
    const wanted = { waiter, file };
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = locks.holds.get(key);
      if (hold !== undefined) behindHold(locks, wanted, hold, way);
    }
    for (const other of requestsOver(locks, file)) {
      if (other.waiter.origin === null || sameActor(other.waiter.actor, waiter.actor)) continue;
      const [first, second] = other.waiter.ticket < waiter.ticket ? [other, wanted] : [wanted, other];
      if (!isCovered(locks, second.waiter, second.file)) behind(locks, second.waiter, first.waiter, way);
    }
  }
}

/** Whether it is for this hold alone that the request has the file already. */
function isHadBy(locks: Locks, hold: Hold, { waiter, file }: Wanted): boolean {
  if (!covers(hold, file) || !(isOwn(hold, waiter) || lentBy(hold, waiter.actor))) return false;
  return !isCovered(locks, waiter, file, hold);
}

function behindHold(locks: Locks, { waiter }: Wanted, hold: Hold, way: Way): void {
  if (isOwn(hold, waiter)) return;
  const { graph } = locks;
  if (way === "begins") graph.block(waiter);
  else graph.unblock(waiter);
  if (lasts(hold)) arrow(graph, waiter, rowOf(hold), way);
  for (const lender of lendersBut(hold, waiter.actor)) {
    const row = locksOf(locks.actors, lender);
    if (row !== undefined) arrow(graph, waiter, row, way);
  }
  if (hold.kind !== "turn" || hold.flights.length > 0) return;
  const { wanted } = rowOf(hold);
  const count = (wanted.get(hold.key) ?? 0) + (way === "begins" ? 1 : -1);
  if (count > 0) wanted.set(hold.key, count);
  else wanted.delete(hold.key);
}

/** The file comes to be had already, or not any more: nobody before the request in line stands in its way then. */
function behindPlaces(locks: Locks, { waiter, file }: Wanted, way: Way): void {
  for (const other of requestsOver(locks, file)) {
    const { origin, ticket, actor } = other.waiter;
    if (origin !== null && ticket < waiter.ticket && !sameActor(actor, waiter.actor))
      behind(locks, waiter, other.waiter, way);
  }
}

function behind({ graph }: Locks, waiter: Waiter, other: Waiter, way: Way): void {
  if (way === "begins") graph.block(waiter);
  else graph.unblock(waiter);
  arrow(graph, waiter, rowOf(other), way);
}

function arrow(graph: WaitGraph, waiter: Waiter, to: ActorLocks, way: Way): void {
  if (way === "begins") graph.join(rowOf(waiter), to, waiter.ticket);
  else graph.part(rowOf(waiter), to, waiter.ticket);
}
