/**
 * Holds and waiters with their indexes: the only file that adds or removes them.
 *
 * Invariants: every hold and waiter is in every index it belongs to, and nothing else is; an actor's row exists
 * exactly while it holds or waits for something.
 */
import { boundKey, dropIfIdle, enlist, locksOf, originKey } from "./actors.ts";
import type { Bound, FileRef, LockKind, Origin } from "./entry.ts";
import type { Hold, Locks, Waiter } from "./state.ts";

export function addHold(locks: Locks, hold: Hold): void {
  if (locks.holds.has(hold.key)) throw new Error(`${hold.key} is held already`);
  locks.holds.set(hold.key, hold);
  locks.heldPaths.add(hold.key, hold.dir);
  const row = enlist(locks.actors, hold.actor);
  row.holds.add(hold.key);
  row.spelled.set(hold.lexical, hold.key);
  if (hold.bound !== null) bind(locks, hold.key, hold.bound);
}

export function removeHold(locks: Locks, hold: Hold): void {
  locks.holds.delete(hold.key);
  locks.heldPaths.remove(hold.key, hold.dir);
  if (hold.bound !== null) unbind(locks, hold.key, hold.bound);
  const row = locksOf(locks.actors, hold.actor);
  if (row === undefined) throw new Error(`no row for the holder of ${hold.key}`);
  row.holds.delete(hold.key);
  if (row.spelled.get(hold.lexical) === hold.key) row.spelled.delete(hold.lexical);
  dropIfIdle(locks.actors, row);
}

/** The holder asked again: spelling, subtree, kind and connection become those of the latest request. */
export function renewHold(
  locks: Locks,
  hold: Hold,
  by: { file: FileRef; kind: LockKind; bound: Bound | null; prompt: string | null },
): void {
  const row = locksOf(locks.actors, hold.actor);
  if (hold.lexical !== by.file.lexical) {
    if (row?.spelled.get(hold.lexical) === hold.key) row.spelled.delete(hold.lexical);
    row?.spelled.set(by.file.lexical, hold.key);
    hold.lexical = by.file.lexical;
    hold.file = by.file.file;
    if (by.file.path !== undefined) hold.path = by.file.path;
  }
  if (by.file.dir && !hold.dir) {
    locks.heldPaths.remove(hold.key, false);
    locks.heldPaths.add(hold.key, true);
    hold.dir = true;
  }
  if (by.bound !== null || by.kind === "explicit") {
    if (hold.bound !== null) unbind(locks, hold.key, hold.bound);
    hold.bound = by.bound;
    if (by.bound !== null) bind(locks, hold.key, by.bound);
  }
  if (by.kind === "explicit") hold.kind = "explicit";
  hold.prompt = by.prompt ?? hold.prompt;
}

export function addWaiter(locks: Locks, waiter: Waiter): void {
  locks.waiters.set(waiter.ticket, waiter);
  for (const file of waiter.files) {
    locks.waitedPaths.add(file.key, file.dir);
    const tickets = locks.waitersAt.get(file.key);
    if (tickets === undefined) locks.waitersAt.set(file.key, new Set([waiter.ticket]));
    else tickets.add(waiter.ticket);
  }
  enlist(locks.actors, waiter.actor).waits.add(waiter.ticket);
  if (waiter.origin !== null) locks.byOrigin.set(originKey(waiter.origin), waiter.ticket);
}

export function removeWaiter(locks: Locks, waiter: Waiter): void {
  locks.waiters.delete(waiter.ticket);
  for (const file of waiter.files) {
    locks.waitedPaths.remove(file.key, file.dir);
    const tickets = locks.waitersAt.get(file.key);
    tickets?.delete(waiter.ticket);
    if (tickets?.size === 0) locks.waitersAt.delete(file.key);
  }
  if (waiter.origin !== null) locks.byOrigin.delete(originKey(waiter.origin));
  const row = locksOf(locks.actors, waiter.actor);
  if (row === undefined) throw new Error(`no row for waiter ${waiter.ticket}`);
  row.waits.delete(waiter.ticket);
  dropIfIdle(locks.actors, row);
}

/** Ties the waiter to where its answer goes, or with null leaves its place without one. */
export function attachWaiter(locks: Locks, waiter: Waiter, origin: Origin | null): void {
  if (waiter.origin !== null) locks.byOrigin.delete(originKey(waiter.origin));
  waiter.origin = origin;
  if (origin !== null) locks.byOrigin.set(originKey(origin), waiter.ticket);
}

function bind(locks: Locks, key: string, bound: Bound): void {
  const keys = locks.byBound.get(boundKey(bound));
  if (keys === undefined) locks.byBound.set(boundKey(bound), new Set([key]));
  else keys.add(key);
}

function unbind(locks: Locks, key: string, bound: Bound): void {
  const keys = locks.byBound.get(boundKey(bound));
  keys?.delete(key);
  if (keys?.size === 0) locks.byBound.delete(boundKey(bound));
}
