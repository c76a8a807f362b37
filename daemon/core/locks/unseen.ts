/**
 * Writes in flight that the daemon's present start did not see begin. Their end may have come while no daemon ran, so
 * they expire some time after the start, unless a person is asked about them.
 *
 * Invariants: only what an earlier start of the node saw begin expires; nothing of it stays in flight for ever. A write
 * that expired may still land: if its lock yielded meanwhile, that is a lost update.
 */

import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Hold } from "../base-state.ts";
import type { Step } from "../outcome.ts";
import type { Handler } from "../rules.ts";
import { flyingOf } from "./in-flight.ts";
import { setFlights } from "./table.ts";
import { yieldLater } from "./yield.ts";

/** A daemon of the node starts: it saw none of the writes in flight begin. */
export function markUnseen(state: BaseState, node: string, step: Step): void {
  for (const hold of state.locks.holds.values())
    if (hold.flights.length > 0 && hold.origin.node === node) countFromNow(state, hold, step);
}

/** Returns when the lock's unseen writes expire (core time, ms); null: it has none, or a person is asked about them. */
export function unseenOverAt({ unseen, yieldMs }: Hold): number | null {
  if (unseen === undefined || unseen.waits) return null;
  // The lock of one command or edit yields as soon as that is over, which says nothing of when it is.
  const ms = yieldMs <= 1 ? limits.yieldMs : Math.max(yieldMs, limits.unseenMinMs);
  return unseen.sinceMs + ms;
}

/**
 * The actor's client shows of its unseen writes that a person is asked about them (`waits`), that nobody is any more
 * (`runs`), or that they have ended (`over`).
 */
export const flightUnseen: Handler<"flight_unseen"> = (state, { actor, now }, _meta, step) => {
  step.reply = { ok: true };
  for (const hold of flyingOf(state, actor)) {
    if (hold.unseen === undefined) continue;
    if (now === "over") expireUnseen(state, hold, step);
    else if (now === "runs") countFromNow(state, hold, step);
    else state.preimages.writable(hold).unseen = { sinceMs: state.t, waits: true };
  }
};

/** The lock's unseen writes count as over. */
export function expireUnseen(state: BaseState, hold: Hold, step: Step): void {
  setFlights(state.locks, hold, [], hold.flights);
  yieldLater(hold, step);
}

function countFromNow(state: BaseState, hold: Hold, step: Step): void {
  state.preimages.writable(hold).unseen = { sinceMs: state.t, waits: false };
  const at = unseenOverAt(hold);
  if (at !== null)
    step.timers.push({ at, due: { what: "unseen_over", key: hold.key, first: hold.first.grant } });
}
