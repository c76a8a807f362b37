/**
 * When turn locks end by themselves.
 *
 * Invariants: a turn lock without a write in flight yields to a waiter when untouched for its `yieldMs`, or at once
 * while its holder itself waits; a turn lock without waiters ends with its lease.
 */

import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Hold, Waiter } from "../base-state.ts";
import type { Step } from "../outcome.ts";
import { isWaiting, rowOf, rowsAround } from "./by-actor.ts";

/**
 * Returns a turn lock's lease from its last touch, in milliseconds. A lock with `yieldMs` 0 serves one command, so its
 * lease is short: an interrupted command sends no end event.
 */
export function leaseMsOf({ yieldMs }: Pick<Hold, "yieldMs">): number {
  return yieldMs === 0 ? limits.commandLeaseMs : limits.turnLeaseMs;
}

/** Returns when the lock yields (core time, ms), or null if it does not yield or has no waiter. */
export function yieldAt(hold: Hold): number | null {
  if (hold.kind !== "turn" || hold.loan !== null) return null;
  const row = rowOf(hold);
  if (!row.wanted.has(hold.key)) return null;
  return isWaiting(row) ? hold.touched : hold.touched + hold.yieldMs;
}

/** Schedules the lock's yield if it yields. */
export function yieldLater(hold: Hold, step: Step): void {
  const at = yieldAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "yield_over", key: hold.key, first: hold.first.grant } });
}

/** Schedules the yield of locks over the waiter's files, and of the actor's own locks if it did not wait before. */
export function yieldForWait(state: BaseState, waiter: Waiter, step: Step): void {
  const { holds, heldPaths } = state.locks;
  for (const file of waiter.files) {
    for (const key of heldPaths.overlapping(file.key, file.dir)) {
      const hold = holds.get(key);
      if (hold !== undefined) yieldLater(hold, step);
    }
  }
  const row = rowOf(waiter);
  if (row.attached > 1) return;
  const keys = [row, ...rowsAround(row)].flatMap(({ wanted }) => [...wanted.keys()]);
  for (const key of keys.sort()) {
    const hold = holds.get(key);
    if (hold !== undefined) yieldLater(hold, step);
  }
}
