/**
 * Timers of the core, which has no clock. A step names what is due when; the engine proposes it at that time.
 * Invariant: an `elapse` that no longer fits the state is refused and changes nothing.
 */

import { refuse } from "../../protocol/codes.ts";
import type { Due, DueName, DueOf } from "./commands.ts";
import type { Step, Timer } from "./outcome.ts";
import { ruleList } from "./rule-list.ts";
import { type Handler, joined, type TimerRules } from "./rules.ts";
import type { State } from "./state.ts";

const timed = ruleList.flatMap(rules => ("timers" in rules ? [rules] : []));
const timers: TimerRules<DueName, State> = joined(timed.map(slice => slice.timers));

/** Returns when `due` is due in this state (core time, ms), or null if it no longer applies. */
export function dueAt<W extends DueName>(state: State, due: DueOf<W>): number | null {
  return timers[due.what].at(state, due);
}

function over<W extends DueName>(state: State, due: DueOf<W>, step: Step): void {
  timers[due.what].over(state, due, step);
}

/** Returns all timers of the state, for a start from a snapshot. */
export function allDue(state: State): Timer[] {
  const dues: Due[] = timed.flatMap(slice => [...slice.dues(state)]);
  dues.push({ what: "grants_left" });
  return dues.flatMap(due => {
    const at = dueAt(state, due);
    return at === null ? [] : [{ at, due }];
  });
}

export const elapse: Handler<"elapse", State> = (state, { due }, _meta, step) => {
  const at = dueAt(state, due);
  if (at === null || at > state.t) {
    step.reply = refuse("invalid_request", `${due.what} is not due`);
    return;
  }
  step.reply = { ok: true };
  over(state, due, step);
};
