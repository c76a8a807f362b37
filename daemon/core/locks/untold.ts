/** When a write whose end the daemon may not hear counts as over; `unseen.ts` has the rule, and those of an earlier start. */
import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Hold, UnseenFlights } from "../base-state.ts";
import type { Step } from "../outcome.ts";

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
