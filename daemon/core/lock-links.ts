/**
 * Keeps the graph of waits as holds and attached requests come, go and change. Each change looks at the requests for
 * that very path alone.
 *
 * A request stands behind a hold once for each of its files that overlap it, and behind an earlier request once for
 * each pair of their files that overlap, but not for a file that it has already (see `isCovered`).
 */
import { actorKey, rowOf, sameActor } from "./actors.ts";
import type { FileRef } from "./entry.ts";
import { covers, isCovered, isOwn, lentBy, mustGiveUp, requestsOver, type Wanted } from "./lock-blockers.ts";
import type { Hold, Locks, Waiter } from "./state.ts";

/** Of a relation: it begins, or it ends. */
type Way = "begins" | "ends";

/** The hold is there, or as it is from now on. */
export function holdEnters(locks: Locks, hold: Hold): void {
  for (const wanted of attachedOver(locks, hold)) {
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "ends");
    behindHold(locks, wanted, hold, "begins");
  }
}

/** The hold is about to go, or to be another one; it is as it was when it entered. */
export function holdLeaves(locks: Locks, hold: Hold): void {
  for (const wanted of attachedOver(locks, hold)) {
    behindHold(locks, wanted, hold, "ends");
    if (isHadBy(locks, hold, wanted)) behindPlaces(locks, wanted, "begins");
  }
}

/** Somebody listens for the request from now on. */
export function waiterEnters(locks: Locks, waiter: Waiter): void {
  rowOf(locks.actors, waiter.actor).attached += 1;
  locks.graph.attach(waiter.ticket);
  relate(locks, waiter, "begins");
}

/** Nobody will listen for the request any more; it is as it was when it entered. */
export function waiterLeaves(locks: Locks, waiter: Waiter): void {
  relate(locks, waiter, "ends");
  locks.graph.detach(waiter.ticket);
  rowOf(locks.actors, waiter.actor).attached -= 1;
}

function relate(locks: Locks, waiter: Waiter, way: Way): void {
  for (const file of waiter.files) {
    const wanted = { waiter, file };
    for (const key of locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = locks.holds.get(key);
      if (hold !== undefined) behindHold(locks, wanted, hold, way);
    }
    if (!isCovered(locks, waiter, file)) behindPlaces(locks, wanted, way);
    for (const other of requestsOver(locks, file)) {
      if (isAhead(waiter, other.waiter) && !isCovered(locks, other.waiter, other.file))
        behind(locks, other.waiter, waiter, way);
    }
  }
}

function* attachedOver(locks: Locks, file: Pick<FileRef, "key" | "dir">): Generator<Wanted, void> {
  if (locks.waiters.size === 0 || !locks.waitedPaths.touches(file.key, file.dir)) return;
  for (const wanted of requestsOver(locks, file)) if (wanted.waiter.origin !== null) yield wanted;
}

/** Whether it is for this hold alone that the request has the file already. */
function isHadBy(locks: Locks, hold: Hold, { waiter, file }: Wanted): boolean {
  if (!covers(hold, file) || !(isOwn(hold, waiter) || lentBy(hold, waiter.actor))) return false;
  return !isCovered(locks, waiter, file, hold);
}

function behindHold(locks: Locks, { waiter }: Wanted, hold: Hold, way: Way): void {
  if (isOwn(hold, waiter)) return;
  const { ticket, actor } = waiter;
  const { graph } = locks;
  if (way === "begins") graph.block(ticket);
  else graph.unblock(ticket);
  for (const other of mustGiveUp(hold, actor)) {
    if (way === "begins") graph.join(actorKey(actor), actorKey(other), ticket);
    else graph.part(actorKey(actor), actorKey(other), ticket);
  }
  if (hold.kind !== "turn" || hold.flights.length > 0) return;
  const { wanted } = rowOf(locks.actors, hold.actor);
  const count = (wanted.get(hold.key) ?? 0) + (way === "begins" ? 1 : -1);
  if (count > 0) wanted.set(hold.key, count);
  else wanted.delete(hold.key);
}

function behindPlaces(locks: Locks, { waiter, file }: Wanted, way: Way): void {
  for (const other of requestsOver(locks, file)) {
    if (other.waiter.origin !== null && isAhead(other.waiter, waiter))
      behind(locks, waiter, other.waiter, way);
  }
}

function behind(locks: Locks, waiter: Waiter, other: Waiter, way: Way): void {
  const { graph } = locks;
  const [from, to] = [actorKey(waiter.actor), actorKey(other.actor)];
  if (way === "begins") {
    graph.block(waiter.ticket);
    graph.join(from, to, waiter.ticket);
  } else {
    graph.unblock(waiter.ticket);
    graph.part(from, to, waiter.ticket);
  }
}

/** `first` came before `second`, and they are not one actor's. */
function isAhead(first: Waiter, second: Waiter): boolean {
  return first.ticket < second.ticket && second.origin !== null && !sameActor(first.actor, second.actor);
}
