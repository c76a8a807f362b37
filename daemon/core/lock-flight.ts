/**
 * Writes in flight, and turn holds that yield.
 *
 * A write is in flight from the answer that lets it go on until its end is seen: nothing announces when a person
 * answers a permission dialog, so a hold with a write in flight does not yield. One without yields to who waits when
 * it was untouched for its `yieldMs`, or at once while its holder itself waits.
 */
import { limits } from "../../protocol/limits.ts";
import { locksOf, sameActor } from "./actors.ts";
import type { Actor, FileRef } from "./entry.ts";
import type { Handler } from "./handlers.ts";
import { attachedOf, isOwn, waitersOver } from "./lock-blockers.ts";
import { passOn } from "./lock-queue.ts";
import { actorRow, pathOf } from "./lock-text.ts";
import { noteRisks } from "./merge-risk.ts";
import type { Hold, State } from "./state.ts";
import type { Step } from "./step.ts";
import { noteWork } from "./writes.ts";

export const flightEnd: Handler<"flight_end"> = (state, { actor, flight, wrote, noted }, meta, step) => {
  step.reply = { ok: true };
  if (noted !== undefined) {
    noteWork(state, actor, noted, meta);
    noteRisks(state, actor, noted.files, step);
  }
  endFlights(state, actor, flight, step);
  if (flight === null) return;
  const lapsed = state.locks.lapsed.get(flight);
  // An end that tells of no write may come before the one that does: events that nobody waits for have no order.
  if (!wrote || lapsed === undefined || !sameActor(lapsed.actor, actor)) return;
  state.locks.lapsed.delete(flight);
  const holder = state.locks.holds.get(lapsed.key)?.actor ?? null;
  if (holder !== null && sameActor(holder, actor)) return;
  const project = state.sessions.live.get(actor.session)?.project ?? "";
  step.events.push({
    event: {
      event: "lost_update",
      file: lapsed.file,
      path: pathOf(lapsed),
      writer: actorRow(state, actor),
      holder: holder === null ? null : actorRow(state, holder),
    },
    about: holder === null ? [actor.session] : [actor.session, holder.session],
    project,
  });
};

export const leaseRenew: Handler<"lease_renew"> = (state, { actor }, _meta, step) => {
  step.reply = { ok: true };
  for (const hold of heldBy(state, actor)) {
    if (hold.flights.length > 0 && hold.renewed === null) hold.renewed = state.t;
  }
};

/** Ends one of the actor's flights, or all; holds that may yield now are due for it. */
export function endFlights(state: State, actor: Actor, flight: string | null, step: Step): void {
  for (const hold of heldBy(state, actor)) {
    if (hold.flights.length === 0) continue;
    const left = flight === null ? [] : hold.flights.filter(f => f !== flight);
    if (left.length === hold.flights.length) continue;
    hold.flights = left;
    if (left.length > 0) continue;
    yieldLater(state, hold, step);
    // A descendant may have waited for the write alone.
    passOn(state, [hold], step);
  }
}

/** Remembers the writes of a hold that ends before they do. */
export function lapse(state: State, hold: Hold): void {
  const { lapsed } = state.locks;
  for (const flight of hold.flights) {
    lapsed.delete(flight);
    const { actor, key, file, path } = hold;
    lapsed.set(flight, { actor, key, path, file, at: state.t });
  }
  for (const oldest of lapsed.keys()) {
    if (lapsed.size <= limits.lapsedMax) break;
    lapsed.delete(oldest);
  }
}

/**
 * How long a turn hold outlives its last touch, in milliseconds. One that yields as soon as nothing is in flight is for
 * a single command: where nobody told of its end (it was interrupted), others need not wait for a whole lease.
 */
export function leaseMsOf({ yieldMs }: Pick<Hold, "yieldMs">): number {
  return yieldMs === 0 ? limits.commandLeaseMs : limits.turnLeaseMs;
}

/** When the hold yields as things stand (core time, ms), or null: it is not one that does, or nobody waits. */
export function yieldAt(state: State, hold: Hold): number | null {
  if (hold.kind !== "turn" || hold.loan !== null || hold.flights.length > 0) return null;
  let wanted = false;
  for (const waiter of waitersOver(state.locks, hold)) {
    wanted ||= waiter.origin !== null && !isOwn(hold, waiter);
  }
  if (!wanted) return null;
  return attachedOf(state.locks, hold.actor).length > 0 ? hold.touched : hold.touched + hold.yieldMs;
}

/** Notes when the hold yields, if it does. */
export function yieldLater(state: State, hold: Hold, step: Step): void {
  const at = yieldAt(state, hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "yield_over", key: hold.key, first: hold.first.grant } });
}

/** Somebody waits for these files, and waits himself now: holds over them, and his own, may yield. */
export function yieldForWait(state: State, actor: Actor, files: readonly FileRef[], step: Step): void {
  for (const file of files) {
    for (const key of state.locks.heldPaths.overlapping(file.key, file.dir)) {
      const hold = state.locks.holds.get(key);
      if (hold !== undefined) yieldLater(state, hold, step);
    }
  }
  for (const hold of heldBy(state, actor)) yieldLater(state, hold, step);
}

function heldBy(state: State, actor: Actor): Hold[] {
  const row = locksOf(state.locks.actors, actor);
  return row === undefined ? [] : [...row.holds].flatMap(key => state.locks.holds.get(key) ?? []);
}
