/**
 * Writes in flight.
 *
 * A write is in flight from the answer that allows it until the daemon sees its end. A lock with a write in flight
 * does not yield, because no event announces when a person answers a permission dialog. `unseen.ts` has the rule for
 * writes that began before the daemon's present start.
 *
 * Invariants: a write in flight belongs to one lock at a time. If its lock ends first, `expiredWrites` keeps the write until
 * its end is seen. `limits.expiredWritesMax` newer ones evict it before that.
 */

import { type Actor, actorKey, sameActor, withoutCommand } from "../frame/actors.ts";
import { dropOldest } from "../frame/collections.ts";
import type { BaseState, Hold, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { rowsOfActor } from "../tables/locks.ts";
import { actorRow, pathOf, projectOf } from "../tables/naming.ts";
import { tellLater } from "../tables/notices.ts";
import { touchDeclared } from "../work/declared-ends.ts";
import { markDirty, noteRisks } from "../work/dirty-files.ts";
import { grantWaiters } from "./grant.ts";
import { setFlights } from "./holds.ts";
import { asksAboutUntold, countFrom, yieldLater } from "./leases.ts";

export function flightEnd(
  state: BaseState,
  { actor, flight, wrote, noted }: CommandOf<"flight_end">,
  meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  if (noted !== undefined) {
    markDirty(state, actor, noted, meta);
    noteRisks(state, actor, noted.files, step);
  }
  // A file outside of every repository is known by its lock alone.
  if (wrote && flight !== null && noted === undefined) touchHeld(state, actor, flight);
  endWrites(state, actor, flight, step);
  if (flight === null) return;
  const id = useKey(actor, flight);
  const expiredWrites = state.locks.expiredWrites.get(id);
  // An end without a write may arrive before the end with one: asynchronous events have no order.
  if (!wrote || expiredWrites === undefined) return;
  state.locks.expiredWrites.delete(id);
  const holder = holderOf(state, expiredWrites.key);
  if (holder !== null && sameActor(holder, actor)) return;
  const project = projectOf(state, actor) ?? "";
  const path = pathOf(expiredWrites);
  const writer = actorRow(state, actor);
  const holding = holder === null ? null : actorRow(state, holder);
  step.events.push({
    event: { event: "lost_update", file: expiredWrites.file, path, writer, holder: holding },
    about: holder === null ? [actor.session] : [actor.session, holder.session],
    project,
  });
  const what = "lost_update";
  tellLater(state, actor, { what, file: path, mine: true, other: holding?.name ?? null });
  if (holder !== null) tellLater(state, holder, { what, file: path, mine: false, other: writer.name });
}

export function leaseRenew(
  state: BaseState,
  { actor }: CommandOf<"lease_renew">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  for (const hold of flyingOf(state, actor)) {
    if (hold.renewed === null) state.preimages.writable(hold).renewed = state.t;
    asksAboutUntold(state, hold);
  }
}

/** Ends one of the actor's writes in flight, or all, and schedules the yield of locks that may yield now. */
export function endWrites(state: BaseState, actor: Actor, flight: string | null, step: Step): void {
  for (const hold of flyingOf(state, actor)) {
    const { flights, expiredFlights = [] } = hold;
    if (flight !== null && !flights.includes(flight) && !expiredFlights.includes(flight)) continue;
    const left = flight === null ? [] : flights.filter(f => f !== flight);
    setFlights(state.locks, hold, left);
    if (left.length === 0) yieldLater(hold, step);
  }
  // A descendant that waited only for this write comes before the actor's next write.
  grantWaiters(state, step);
}

function touchHeld(state: BaseState, actor: Actor, flight: string): void {
  for (const { key, flights, ancestors } of flyingOf(state, actor))
    if (flights.includes(flight)) touchDeclared(state, actor, ancestors, [key]);
}

/** Returns a key of actor and tool use: two clients may use the same tool-use id. */
function useKey(actor: Actor, flight: string): string {
  return `${actorKey(actor)}\n${flight}`;
}

/** Returns the holder of the file or of a folder above it, or null. */
function holderOf({ locks }: BaseState, key: string): Actor | null {
  for (const held of locks.heldPaths.overlapping(key, false)) {
    const hold = locks.holds.get(held);
    if (hold !== undefined) return hold.actor;
  }
  return null;
}

/** Remembers the writes in flight of a lock that ends before they do, and those that expired. */
export function expireWrites(state: BaseState, hold: Hold): void {
  const { expiredWrites } = state.locks;
  for (const flight of [...(hold.expiredFlights ?? []), ...hold.flights]) {
    const { key, file, path } = hold;
    const actor = withoutCommand(hold.actor);
    const id = useKey(actor, flight);
    expiredWrites.delete(id);
    expiredWrites.set(id, { actor, key, path, file, at: state.t });
  }
  dropOldest(expiredWrites, state.limits.expiredWritesMax);
}

/** Returns the locks with the actor's writes in flight, or that expired, sorted, so that replay visits them in the same order. */
function flyingOf(state: BaseState, actor: Actor): Hold[] {
  const flying = rowsOfActor(state.locks.actors, actor).flatMap(row => [...row.flying]);
  return flying.sort().flatMap(key => state.locks.holds.get(key) ?? []);
}

// Writes in flight whose end the daemon may not hear. The present start of the daemon did not see them begin, so their end
// may have come while no daemon ran. Or their client reports no ends. They expire some time after the start, or after their
// grant, unless a person is asked about them.
//
// Invariants: only what an earlier start of the node saw begin expires, and what is untold; nothing of it stays in flight for
// ever. A write that expired may still land: if its lock yielded meanwhile, that is a lost update.

/** A daemon of the node starts: it saw none of the writes in flight begin. */
export function markUnseen(state: BaseState, node: string, step: Step): void {
  for (const hold of state.locks.holds.values())
    if (hold.flights.length > 0 && hold.origin.node === node) countFromNow(state, hold, step);
}

/**
 * The actor's client shows how its unseen writes are. `waits`: a person is asked about them. `runs`: nobody is asked any
 * more. `over`: they have ended.
 */
export function flightUnseen(
  state: BaseState,
  { actor, now }: CommandOf<"flight_unseen">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  for (const hold of flyingOf(state, actor)) {
    if (hold.unseen === undefined) continue;
    if (now === "over") expireUnseen(state, hold, step);
    else if (now === "runs") countFromNow(state, hold, step);
    else state.preimages.writable(hold).unseen = { sinceMs: state.t, waits: true };
  }
}

/** The lock's unseen writes count as over. */
export function expireUnseen(state: BaseState, hold: Hold, step: Step): void {
  setFlights(state.locks, hold, [], hold.flights);
  yieldLater(hold, step);
}

function countFromNow(state: BaseState, hold: Hold, step: Step): void {
  countFrom(state, hold, { sinceMs: state.t, waits: false }, step);
}
