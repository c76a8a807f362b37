/**
 * Updates the wait-for graph when a lock or an attached waiter is added, removed or changed.
 *
 * Invariants: a waiter waits behind a lock once per file that overlaps the lock, and behind an earlier waiter once per
 * overlapping pair of files. It never waits for a file that it already has (see `isCovered`).
 */
import type { Hold, Locks, Waiter } from "../base-state.ts";
import {
  covers,
  isCovered,
  isMine,
  isOwn,
  lasts,
  lendersBut,
  lentBy,
  requestsOver,
  type Wanted,
} from "./blockers.ts";
import { type ActorLocks, locksOf, rowOf } from "./by-actor.ts";
import type { WaitGraph } from "./wait-graph.ts";

/** Whether a wait begins or ends. */
type Way = "begins" | "ends";

/** Adds the waits behind a lock; the caller has just added or changed the lock. */
export function holdEnters(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "ends");
    behindHold(locks, wanted, hold, "begins");
  }
}

/** Removes the waits behind a lock; the caller must not have changed the lock since `holdEnters`. */
export function holdLeaves(locks: Locks, hold: Hold): void {
  for (const wanted of requestsOver(locks, hold)) {
    if (wanted.waiter.origin === null) continue;
    behindHold(locks, wanted, hold, "ends");
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "begins");
  }
}

/** Adds the waits of a waiter that is now attached. */
export function waiterEnters(locks: Locks, waiter: Waiter): void {
  rowOf(waiter).attached += 1;
  locks.graph.enter(waiter);
  relate(locks, waiter, "begins");
  locks.graph.entered(waiter);
}

/** Removes the waits of a waiter before it detaches; the caller must not have changed it since `waiterEnters`. */
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
      if (other.waiter.origin === null || isMine(other.waiter.actor, waiter.actor)) continue;
      const [first, second] = other.waiter.ticket < waiter.ticket ? [other, wanted] : [wanted, other];
      if (!isCovered(locks, second.waiter, second.file)) behind(locks, second.waiter, first.waiter, way);
    }
  }
}

/** Whether the waiter has the file already because of this lock alone. */
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

/** Begins or ends the waiter's waits behind earlier waiters for the file: it has none while it has the file. */
function behindPlaces(locks: Locks, { waiter, file }: Wanted, way: Way): void {
  for (const other of requestsOver(locks, file)) {
    const { origin, ticket, actor } = other.waiter;
    if (origin !== null && ticket < waiter.ticket && !isMine(actor, waiter.actor))
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
