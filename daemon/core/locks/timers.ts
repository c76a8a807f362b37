/** What passes with time for locks: waits, leases, yields, and the grace of a connection that closed. */
import { limits } from "../../../protocol/limits.ts";
import { assert } from "../assert.ts";
import type { BaseState, Hold, Waiter } from "../base-state.ts";
import type { Due } from "../commands.ts";
import type { TimerRules } from "../handler.ts";
import type { Step } from "../outcome.ts";
import { firstBlocker } from "./blockers.ts";
import type { LockDues, OfLock } from "./commands.ts";
import { answerWaiter, detachWaiter, dismiss } from "./grant.ts";
import { loansOf } from "./inherit.ts";
import { disconnectLoans, releaseParts } from "./release.ts";
import { waitOver } from "./replies.ts";
import { removeWaiter } from "./table.ts";
import { expireUnseen, unseenOverAt } from "./unseen.ts";
import { leaseMsOf, yieldAt } from "./yield.ts";

export const lockTimers: TimerRules<keyof LockDues> = {
  wait_over: {
    at(state, due) {
      const waiter = state.locks.waiters.get(due.ticket);
      return waiter === undefined || waiter.origin === null ? null : waiter.deadline;
    },
    over: (state, due, step) => waitIsOver(state, waiterOf(state, due.ticket), step),
  },
  place_over: {
    at(state, due) {
      const waiter = state.locks.waiters.get(due.ticket);
      return waiter === undefined || waiter.origin !== null ? null : waiter.deadline;
    },
    over: (state, due) => removeWaiter(state.locks, waiterOf(state, due.ticket)),
  },
  turn_lease_over: {
    at(state, due) {
      const hold = meant(state, due);
      if (hold === null || hold.kind !== "turn") return null;
      return Math.max(hold.touched, hold.renewed ?? 0) + leaseMsOf(hold);
    },
    over: (state, due, step) => dropHold(state, meant(state, due), "lease over", step),
  },
  yield_over: {
    at(state, due) {
      const hold = meant(state, due);
      return hold === null ? null : yieldAt(hold);
    },
    over: (state, due, step) => dropHold(state, meant(state, due), "yielded", step),
  },
  unseen_over: {
    at(state, due) {
      const hold = meant(state, due);
      return hold === null ? null : unseenOverAt(hold);
    },
    over(state, due, step) {
      const hold = meant(state, due);
      if (hold !== null) expireUnseen(state, hold, step);
    },
  },
  bound_over: {
    at(state, due) {
      const bound = boundPart(state, due)?.bound ?? null;
      const start = bound === null ? undefined : state.nodes.get(bound.node);
      if (start === undefined || bound?.epoch === start.epoch) return null;
      return start.at + limits.boundGraceMs;
    },
    over(state, due, step) {
      const hold = meant(state, due);
      if (hold !== null) return dropHold(state, hold, "disconnected", step);
      const used = state.locks.holds.get(due.key);
      const part = boundPart(state, due);
      if (used !== undefined) disconnectLoans(state, used, loan => loan === part, step);
    },
  },
  grants_left: {
    at: state => (state.locks.graph.freeCount > 0 ? state.t : null),
    // Every step ends with `grantWaiters`.
    over: () => {},
  },
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
    if (hold.unseen !== undefined) yield { what: "unseen_over", ...named };
    for (const { bound, first: part } of [hold, ...loansOf(hold)])
      if (bound !== null) yield { what: "bound_over", key, first: part.grant };
  }
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

function dropHold(state: BaseState, hold: Hold | null, cause: string, step: Step): void {
  if (hold !== null) releaseParts(state, [{ actor: hold.actor, holds: [hold], places: [] }], cause, step);
}

function meant(state: BaseState, due: OfLock): Hold | null {
  const hold = state.locks.holds.get(due.key);
  return hold !== undefined && hold.first.grant === due.first ? hold : null;
}

/** Returns the lock that `due` means, or the loan of it. */
function boundPart(state: BaseState, due: OfLock): Pick<Hold, "bound"> | undefined {
  const hold = state.locks.holds.get(due.key);
  return hold && [hold, ...loansOf(hold)].find(({ first }) => first.grant === due.first);
}

function waiterOf(state: BaseState, ticket: number): Waiter {
  const waiter = state.locks.waiters.get(ticket);
  assert(waiter !== undefined, () => `no waiter ${ticket}`);
  return waiter;
}
