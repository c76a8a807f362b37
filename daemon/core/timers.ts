/**
 * Timers of the core, which has no clock. A step names what is due when; the engine proposes it at that time.
 * Invariant: an `elapse` that no longer fits the state is refused and changes nothing.
 */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { assert } from "./assert.ts";
import type { BaseState, Hold, Session, Waiter } from "./base-state.ts";
import type { Due } from "./commands.ts";
import { endItem } from "./context.ts";
import { itemKey } from "./context-index.ts";
import type { Handler } from "./handler.ts";
import { runnerOver, runnerOverAt } from "./lead/merges/run.ts";
import { spawnOver } from "./lead/spawns/update.ts";
import { firstBlocker } from "./locks/blockers.ts";
import { rowsOfSession } from "./locks/by-actor.ts";
import { answerWaiter, detachWaiter, dismiss } from "./locks/grant.ts";
import { loansOf } from "./locks/inherit.ts";
import { disconnectLoans, holdsOf, releaseParts } from "./locks/release.ts";
import { waitOver } from "./locks/replies.ts";
import { removeWaiter } from "./locks/table.ts";
import { expireUnseen, unseenOverAt } from "./locks/unseen.ts";
import { leaseMsOf, yieldAt } from "./locks/yield.ts";
import { endFreeze } from "./messages/freezes.ts";
import type { Step, Timer } from "./outcome.ts";
import { end, leaseAfterLostMs } from "./sessions/end.ts";
import type { State } from "./state.ts";

/** Returns when `due` is due in this state (core time, ms), or null if it no longer applies. */
export function dueAt(state: State, due: Due): number | null {
  switch (due.what) {
    case "wait_over": {
      const waiter = state.locks.waiters.get(due.ticket);
      return waiter === undefined || waiter.origin === null ? null : waiter.deadline;
    }
    case "place_over": {
      const waiter = state.locks.waiters.get(due.ticket);
      return waiter === undefined || waiter.origin !== null ? null : waiter.deadline;
    }
    case "turn_lease_over": {
      const hold = meant(state, due);
      if (hold === null || hold.kind !== "turn") return null;
      return Math.max(hold.touched, hold.renewed ?? 0) + leaseMsOf(hold);
    }
    case "yield_over": {
      const hold = meant(state, due);
      return hold === null ? null : yieldAt(hold);
    }
    case "unseen_over": {
      const hold = meant(state, due);
      return hold === null ? null : unseenOverAt(hold);
    }
    case "grants_left":
      return state.locks.graph.freeCount > 0 ? state.t : null;
    case "suspend_over": {
      const session = state.sessions.live.get(due.session);
      return session === undefined || session.begun !== due.begun ? null : session.suspendedUntil;
    }
    case "context_over": {
      const item = state.context.items.get(itemKey(due.project, due.key));
      return item === undefined || item.version !== due.version ? null : item.endsAt;
    }
    case "edit_hold_over":
      return state.freezes.all.get(due.hold)?.until ?? null;
    case "spawn_over":
      return state.spawns.all.get(due.spawn)?.registerUntil ?? null;
    case "bound_over": {
      const bound = boundPart(state, due)?.bound ?? null;
      const start = bound === null ? undefined : state.nodes.get(bound.node);
      if (start === undefined || bound?.epoch === start.epoch) return null;
      return start.at + limits.boundGraceMs;
    }
    case "merge_runner_over":
      return runnerOverAt(state, due.merge);
    case "lost_turns_over":
      return lostSince(state, due, limits.lockDelayMs);
    case "lost_leases_over":
      return lostSince(state, due, leaseAfterLostMs);
    case "lost_over":
      return lostSince(state, due, limits.lostMs);
  }
}

/** Returns all timers of the state, for a start from a snapshot. */
export function allDue(state: State): Timer[] {
  const dues: Due[] = [];
  for (const { ticket } of state.locks.waiters.values()) {
    dues.push({ what: "wait_over", ticket }, { what: "place_over", ticket });
  }
  for (const hold of state.locks.holds.values()) {
    const { key, first, kind } = hold;
    const named = { key, first: first.grant };
    if (kind === "turn") dues.push({ what: "turn_lease_over", ...named }, { what: "yield_over", ...named });
    if (hold.unseen !== undefined) dues.push({ what: "unseen_over", ...named });
    for (const { bound, first: part } of [hold, ...loansOf(hold)])
      if (bound !== null) dues.push({ what: "bound_over", key, first: part.grant });
  }
  for (const { id: session, begun, lostAt, suspendedUntil } of state.sessions.live.values()) {
    if (suspendedUntil !== null) dues.push({ what: "suspend_over", session, begun });
    if (lostAt === null) continue;
    dues.push({ what: "lost_turns_over", session, begun });
    dues.push({ what: "lost_leases_over", session, begun }, { what: "lost_over", session, begun });
  }
  for (const { project, key, version, endsAt } of state.context.items.values()) {
    if (endsAt !== null) dues.push({ what: "context_over", project, key, version });
  }
  for (const hold of state.freezes.all.keys()) dues.push({ what: "edit_hold_over", hold });
  for (const { id: spawn, registerUntil } of state.spawns.all.values())
    if (registerUntil !== null) dues.push({ what: "spawn_over", spawn });
  for (const ids of state.merges.byRunner.values())
    for (const merge of ids) dues.push({ what: "merge_runner_over", merge });
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
  switch (due.what) {
    case "wait_over":
      return waitIsOver(state, waiterOf(state, due.ticket), step);
    case "place_over":
      return removeWaiter(state.locks, waiterOf(state, due.ticket));
    case "turn_lease_over":
      return dropHold(state, meant(state, due), "lease over", step);
    case "yield_over":
      return dropHold(state, meant(state, due), "yielded", step);
    case "unseen_over": {
      const hold = meant(state, due);
      return hold === null ? undefined : expireUnseen(state, hold, step);
    }
    case "grants_left":
      // Every step ends with `grantWaiters`.
      return;
    case "suspend_over":
      return end(state, sessionOf(state, due.session), "ended", step);
    case "context_over": {
      const item = state.context.items.get(itemKey(due.project, due.key));
      return item === undefined ? undefined : endItem(state, item, step);
    }
    case "edit_hold_over": {
      const hold = state.freezes.all.get(due.hold);
      return hold === undefined ? undefined : endFreeze(state, hold, "over", step);
    }
    case "spawn_over": {
      const spawn = state.spawns.all.get(due.spawn);
      return spawn === undefined ? undefined : spawnOver(state, spawn, step);
    }
    case "bound_over": {
      const hold = meant(state, due);
      if (hold !== null) return dropHold(state, hold, "disconnected", step);
      const used = state.locks.holds.get(due.key);
      const part = boundPart(state, due);
      return used === undefined ? undefined : disconnectLoans(state, used, loan => loan === part, step);
    }
    case "merge_runner_over":
      return runnerOver(state, due.merge, step);
    case "lost_turns_over":
      return releaseKind(state, due.session, "turn", step);
    case "lost_leases_over":
      return releaseKind(state, due.session, "explicit", step);
    case "lost_over":
      return end(state, sessionOf(state, due.session), "lost", step);
  }
};

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

function releaseKind(state: BaseState, session: string, kind: Hold["kind"], step: Step): void {
  const parts = rowsOfSession(state.locks.actors, session, null).map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === kind),
    places: [],
  }));
  // All lenders of an explicit lock are of this session, so their loans end too.
  releaseParts(state, parts, "lost", step, kind === "explicit");
}

function meant(state: BaseState, due: { readonly key: string; readonly first: number }): Hold | null {
  const hold = state.locks.holds.get(due.key);
  return hold !== undefined && hold.first.grant === due.first ? hold : null;
}

/** Returns the lock that `due` means, or the loan of it. */
function boundPart(
  state: BaseState,
  due: { readonly key: string; readonly first: number },
): Pick<Hold, "bound"> | undefined {
  const hold = state.locks.holds.get(due.key);
  return hold && [hold, ...loansOf(hold)].find(({ first }) => first.grant === due.first);
}

function lostSince(
  state: BaseState,
  due: { readonly session: string; readonly begun: number },
  ms: number,
): number | null {
  const session = state.sessions.live.get(due.session);
  if (session === undefined || session.begun !== due.begun || session.lostAt === null) return null;
  return session.lostAt + ms;
}

function waiterOf(state: BaseState, ticket: number): Waiter {
  const waiter = state.locks.waiters.get(ticket);
  assert(waiter !== undefined, () => `no waiter ${ticket}`);
  return waiter;
}

function sessionOf(state: BaseState, id: string): Session {
  const session = state.sessions.live.get(id);
  assert(session !== undefined, () => `no session ${id}`);
  return session;
}
