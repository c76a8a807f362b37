/**
 * Writes in flight, and turn holds that yield.
 *
 * A write is in flight from the answer that lets it go on until its end is seen: nothing announces when a person
 * answers a permission dialog, so a hold with a write in flight does not yield. One without yields to who waits when
 * it was untouched for its `yieldMs`, or at once while its holder itself waits.
 */
import { limits } from "../../protocol/limits.ts";
import { actorKey, locksOf, rowOf, sameActor } from "./actors.ts";
import type { Actor } from "./entry.ts";
import type { Handler } from "./handlers.ts";
import { passOn } from "./lock-queue.ts";
import { setFlights } from "./lock-table.ts";
import { actorRow, pathOf } from "./lock-text.ts";
import { noteRisks } from "./merge-risk.ts";
import { tellLater } from "./notes.ts";
import type { Hold, State, Waiter } from "./state.ts";
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
  const id = useKey(actor, flight);
  const lapsed = state.locks.lapsed.get(id);
  // An end that tells of no write may come before the one that does: events that nobody waits for have no order.
  if (!wrote || lapsed === undefined) return;
  state.locks.lapsed.delete(id);
  const holder = holderOf(state, lapsed.key);
  if (holder !== null && sameActor(holder, actor)) return;
  const project = state.sessions.live.get(actor.session)?.project ?? "";
  const path = pathOf(lapsed);
  const writer = actorRow(state, actor);
  const holding = holder === null ? null : actorRow(state, holder);
  step.events.push({
    event: { event: "lost_update", file: lapsed.file, path, writer, holder: holding },
    about: holder === null ? [actor.session] : [actor.session, holder.session],
    project,
  });
  const what = "lost_update";
  tellLater(state, actor, { what, file: path, mine: true, other: holding?.name ?? null });
  if (holder !== null) tellLater(state, holder, { what, file: path, mine: false, other: writer.name });
};

export const leaseRenew: Handler<"lease_renew"> = (state, { actor }, _meta, step) => {
  step.reply = { ok: true };
  for (const hold of flyingOf(state, actor)) if (hold.renewed === null) hold.renewed = state.t;
};

/** Ends one of the actor's flights, or all; holds that may yield now are due for it. */
export function endFlights(state: State, actor: Actor, flight: string | null, step: Step): void {
  for (const hold of flyingOf(state, actor)) {
    const left = flight === null ? [] : hold.flights.filter(f => f !== flight);
    if (left.length === hold.flights.length) continue;
    setFlights(state.locks, hold, left);
    if (left.length === 0) yieldLater(hold, step);
  }
  // A descendant may have waited for the write alone: it comes before the actor's next one.
  passOn(state, step);
}

/** A tool use by its actor too: nobody promises that the ids of two clients differ. */
function useKey(actor: Actor, flight: string): string {
  return `${actorKey(actor)}\n${flight}`;
}

/** Who holds the file, or a folder that it is in; null: nobody. */
function holderOf({ locks }: State, key: string): Actor | null {
  for (const held of locks.heldPaths.overlapping(key, false)) {
    const hold = locks.holds.get(held);
    if (hold !== undefined) return hold.actor;
  }
  return null;
}

/** Remembers the writes of a hold that ends before they do. */
export function lapse(state: State, hold: Hold): void {
  const { lapsed } = state.locks;
  for (const flight of hold.flights) {
    const { actor, key, file, path } = hold;
    const id = useKey(actor, flight);
    lapsed.delete(id);
    lapsed.set(id, { actor, key, path, file, at: state.t });
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

/** The actor's holds with writes in flight; sorted, since their order must not depend on how the index came to be. */
function flyingOf(state: State, actor: Actor): Hold[] {
  const flying = locksOf(state.locks.actors, actor)?.flying ?? [];
  return [...flying].sort().flatMap(key => state.locks.holds.get(key) ?? []);
}
