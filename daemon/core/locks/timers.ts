/** What passes with time for locks: waits, leases, yields, and the grace of a connection that closed. */
import { limits } from "../../../protocol/limits.ts";
import type { BaseState, Hold, Waiter } from "../base-state.ts";
import type { Due } from "../commands.ts";
import type { Step } from "../outcome.ts";
import { type TimerRules, timer } from "../rules.ts";
import { firstBlocker } from "./blockers.ts";
import type { LockDues, OfLock, OfWaiter } from "./commands.ts";
import { answerWaiter, detachWaiter, dismiss } from "./grant.ts";
import { loansOf } from "./inherit.ts";
import { disconnectLoans, releaseParts } from "./release.ts";
import { waitOver } from "./replies.ts";
import { resourceLeaseOverAt, tellLeaseOver } from "./resources.ts";
import { removeWaiter } from "./table.ts";
import { expireUnseen } from "./unseen.ts";
import { unseenOverAt } from "./untold.ts";
import { leaseMsOf, yieldAt } from "./yield.ts";

export const lockTimers: TimerRules<keyof LockDues> = {
  wait_over: timer(waiterAt, waiter => (waiter.origin === null ? null : waiter.deadline), waitIsOver),
  place_over: timer(
    waiterAt,
    waiter => (waiter.origin === null ? waiter.deadline : null),
    ({ locks }, waiter) => removeWaiter(locks, waiter),
  ),
  turn_lease_over: timer(holdAt, turnLeaseOverAt, (state, hold, step) =>
    dropHold(state, hold, "lease over", step),
  ),
  resource_lease_over: timer(holdAt, resourceLeaseOverAt, (state, hold, step) => {
    tellLeaseOver(state, hold);
    dropHold(state, hold, "lease over", step);
  }),
  yield_over: timer(holdAt, yieldAt, (state, hold, step) => dropHold(state, hold, "yielded", step)),
  unseen_over: timer(holdAt, unseenOverAt, expireUnseen),
  bound_over: timer(boundAt, boundOverAt, (state, { hold, part }, step) =>
    part === hold
      ? dropHold(state, hold, "disconnected", step)
      : disconnectLoans(state, hold, loan => loan === part, step),
  ),
  // Every step ends with `grantWaiters`.
  grants_left: { at: state => (state.locks.graph.freeCount > 0 ? state.t : null), over: () => {} },
};

export function* lockDues({ locks }: BaseState): Generator<Due> {
  for (const { ticket } of locks.waiters.values()) {
    yield { what: "wait_over", ticket };
    yield { what: "place_over", ticket };
  }
  for (const hold of locks.holds.values()) {
    const { key, first, kind } = hold;
    const named = { key, first: first.grant };
    if (kind === "turn") {
      yield { what: "turn_lease_over", ...named };
      yield { what: "yield_over", ...named };
    }
    if (resourceLeaseOverAt(hold) !== null) yield { what: "resource_lease_over", ...named };
    if (hold.unseen !== undefined) yield { what: "unseen_over", ...named };
    for (const { bound, first: part } of [hold, ...loansOf(hold)])
      if (bound !== null) yield { what: "bound_over", key, first: part.grant };
  }
}

function waiterAt({ locks }: BaseState, { ticket }: OfWaiter): Waiter | undefined {
  return locks.waiters.get(ticket);
}

function holdAt({ locks }: BaseState, due: OfLock): Hold | undefined {
  const hold = locks.holds.get(due.key);
  return hold?.first.grant === due.first ? hold : undefined;
}

/** Returns the lock that `due` means, or the loan of it, with the lock as it is used. */
function boundAt({ locks }: BaseState, due: OfLock) {
  const hold = locks.holds.get(due.key);
  const part = hold && [hold, ...loansOf(hold)].find(({ first }) => first.grant === due.first);
  return hold && part && { hold, part };
}

function boundOverAt({ part: { bound } }: { readonly part: Pick<Hold, "bound"> }, { nodes }: BaseState) {
  const start = bound === null ? undefined : nodes.get(bound.node);
  return start === undefined || bound?.epoch === start.epoch ? null : start.at + limits.boundGraceMs;
}

function turnLeaseOverAt(hold: Hold): number | null {
  return hold.kind === "turn" ? Math.max(hold.touched, hold.renewed ?? 0) + leaseMsOf(hold) : null;
}

function waitIsOver(state: BaseState, waiter: Waiter, step: Step): void {
  const reply = waitOver(state, waiter, firstBlocker(state.locks, waiter));
  if (waiter.placeMs === 0) {
    dismiss(state, waiter, reply, "timed out", step);
  } else {
    answerWaiter(state, waiter, reply, false, step);
    detachWaiter(state, waiter, waiter.placeMs, step);
  }
}

function dropHold(state: BaseState, hold: Hold, cause: string, step: Step): void {
  releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], cause, step);
}
