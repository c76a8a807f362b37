/**
 * Writes in flight whose end the daemon may not hear. The present start did not see them begin, so their end may have come
 * while no daemon ran; or their client tells no end of theirs. They expire some time after the start, or after their
 * grant, unless a person is asked about them.
 *
 * Invariants: only what an earlier start of the node saw begin expires, and what is untold; nothing of it stays in flight for
 * ever. A write that expired may still land: if its lock yielded meanwhile, that is a lost update.
 */

import type { BaseState, Hold } from "../base-state.ts";
import type { Step } from "../outcome.ts";
import type { Handler } from "../rules.ts";
import { flyingOf } from "./in-flight.ts";
import { setFlights } from "./table.ts";
import { countFrom } from "./untold.ts";
import { yieldLater } from "./yield.ts";

/** A daemon of the node starts: it saw none of the writes in flight begin. */
export function markUnseen(state: BaseState, node: string, step: Step): void {
  for (const hold of state.locks.holds.values())
    if (hold.flights.length > 0 && hold.origin.node === node) countFromNow(state, hold, step);
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
  countFrom(state, hold, { sinceMs: state.t, waits: false }, step);
}
