/**
 * When turn holds end by themselves.
 *
 * Invariants: a hold without a write in flight yields to who waits when it was untouched for its `yieldMs`, or at once
 * while its holder itself waits; one that nobody waits for ends with its lease.
 */

import { limits } from "../../../protocol/limits.ts";
import type { Step } from "../outcome.ts";
import type { Hold, State, Waiter } from "../state.ts";
import { rowOf } from "./by-actor.ts";

/**
 * How long a turn hold outlives its last touch, in milliseconds. One that yields as soon as nothing is in flight is for
 * a single command: where nobody told of its end (it was interrupted), others need not wait for a whole lease.
 */
export function leaseMsOf({ yieldMs }: Pick<Hold, "yieldMs">): number {
  return yieldMs === 0 ? limits.commandLeaseMs : limits.turnLeaseMs;
}

/** When the hold yields as things stand (core time, ms), or null: it is not one that does, or nobody waits. */
export function yieldAt(hold: Hold): number | null {
  if (hold.kind !== "turn" || hold.loan !== null) return null;
  const { wanted, attached } = rowOf(hold);
  if (!wanted.has(hold.key)) return null;
  return attached > 0 ? hold.touched : hold.touched + hold.yieldMs;
}

/** Notes when the hold yields, if it does. */
export function yieldLater(hold: Hold, step: Step): void {
  const at = yieldAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "yield_over", key: hold.key, first: hold.first.grant } });
}

/** The request waits: holds over its files may yield, and its actor's own if he did not wait before. */
export function yieldForWait(state: State, waiter: Waiter, step: Step): void {
  const { holds, heldPaths } = state.locks;
  for (const file of waiter.files) {
    for (const key of heldPaths.overlapping(file.key, file.dir)) {
      const hold = holds.get(key);
      if (hold !== undefined) yieldLater(hold, step);
    }
  }
  const { attached, wanted } = rowOf(waiter);
  if (attached > 1) return;
  for (const key of [...wanted.keys()].sort()) {
    const hold = holds.get(key);
    if (hold !== undefined) yieldLater(hold, step);
  }
}
