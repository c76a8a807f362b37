/**
 * When turn locks end by themselves.
 *
 * Invariants: a turn lock without a write in flight yields to a waiter when untouched for its `yieldMs`. It yields at once
 * while its holder itself waits. A turn lock without waiters ends with its lease.
 */

import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { isResource } from "../../../protocol/names.ts";
import type { BaseState, Hold, UnseenFlights, Waiter } from "../tables/base-state.ts";
import type { Step } from "../tables/entries.ts";
import { isWaiting, rowOf, rowsAround } from "../tables/locks.ts";
import { pathOf } from "../tables/naming.ts";
import { takeBack, tellLater } from "../tables/notices.ts";

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

// When a write whose end the daemon may not hear counts as over; `unseen.ts` has the rule, and those of an earlier start.

/** The lock's write began now, and its client may never tell its end: after `untoldMs` it is done, as far as anybody knows. */
export function countUntold(state: BaseState, hold: Hold, untoldMs: number, step: Step): void {
  countFrom(state, hold, { sinceMs: state.t + untoldMs, waits: false, untold: true }, step);
}

/** A person is asked about the actor's untold write; nothing tells when that is over, so it stays in flight. */
export function asksAboutUntold(state: BaseState, hold: Hold): void {
  if (hold.unseen?.untold === true)
    state.preimages.writable(hold).unseen = { sinceMs: state.t, waits: true, untold: true };
}

/** Returns when the lock's unseen writes expire (core time, ms); null: it has none, or a person is asked about them. */
export function unseenOverAt({ unseen, yieldMs }: Hold): number | null {
  if (unseen === undefined || unseen.waits) return null;
  // The lock of one command or edit yields as soon as that is over, which says nothing of when it is.
  const ms = yieldMs <= 1 ? limits.yieldMs : Math.max(yieldMs, limits.unseenMinMs);
  return unseen.sinceMs + ms;
}

/** Counts from `unseen.sinceMs`. */
export function countFrom(state: BaseState, hold: Hold, unseen: UnseenFlights, step: Step): void {
  state.preimages.writable(hold).unseen = unseen;
  const at = unseenOverAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "unseen_over", key: hold.key, first: hold.first.grant } });
}

// The lease of locks on resources. Nobody sees an agent use a database or a browser, so an agent's own lock on one ends by
// itself. A command that runs under its lock keeps the lock until the command's end.
//
// Invariants: a lock on a resource that is bound to no connection ends `limits.resourceLeaseMs` after its holder's latest
// request, or its return to its lender. Its holder gets one notice, unless it locks the resource again before that.

/** Returns when the lock's lease is over (core time, ms); null: it has none. */
export function resourceLeaseOverAt({ lexical, kind, bound, touched }: Hold): number | null {
  return isResource(lexical) && kind === "explicit" && bound === null
    ? touched + limits.resourceLeaseMs
    : null;
}

/** Begins the lease of a lock on a resource that its holder just got. */
export function leaseResource(state: BaseState, hold: Hold, step: Step): void {
  takeBack(state, hold.actor, note => isLeaseNote(note, hold));
  const at = resourceLeaseOverAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "resource_lease_over", key: hold.key, first: hold.first.grant } });
}

/** Tells the holder that its lease is over. */
export function tellLeaseOver(state: BaseState, hold: Hold): void {
  tellLater(state, hold.actor, { what: "lease_over", file: pathOf(hold) });
}

function isLeaseNote(note: FileNote, hold: Hold): boolean {
  return note.what === "lease_over" && note.file === pathOf(hold);
}
