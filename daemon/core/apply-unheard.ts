/**
 * The lean way to apply an entry whose replies and events nobody gets, as in a replay: a lock or unlock of one file, while
 * nobody waits for any. It makes neither.
 *
 * Invariant: it changes the state as `apply` does, or not at all; `tests/unit/apply-unheard.test.ts` compares the two, and
 * so does the simulation, whose replays take it.
 */

import type { BaseState } from "./base-state.ts";
import type { Entry } from "./commands.ts";
import type { LockRelease, LockRequest } from "./locks/commands.ts";
import { ownOne } from "./locks/release-one.ts";
import { mayAskAs } from "./locks/request.ts";
import { removeHold } from "./locks/table.ts";
import { freeFile, grantFree } from "./locks/take-free.ts";
import { Step } from "./outcome.ts";
import { livesOn } from "./sessions/begin.ts";
import { settleRoom } from "./sessions/room.ts";

/** Applies the entry and returns true, or changes nothing: then it is for `apply`. */
export function applyUnheard(state: BaseState, entry: Entry): boolean {
  const { command } = entry;
  // What waits or is granted in another entry's step, and an entry out of order, are for the plain way too.
  if (state.locks.waiters.size > 0 || entry.seq !== state.seq + 1) return false;
  if (command.type === "lock_request") return take(state, command, entry);
  return command.type === "lock_release" && release(state, command, entry);
}

function take(state: BaseState, request: LockRequest, entry: Entry): boolean {
  const { freezes, sessions } = state;
  if (request.retry !== undefined || freezes.all.size > 0) return false;
  const session = sessions.live.get(request.actor.session);
  if (session === undefined || mayAskAs(state, session, request) !== null) return false;
  const file = freeFile(state, request);
  if (file === null) return false;
  advance(state, entry);
  // Else a sign of life changes nothing: its lock is why it does not make room.
  if (session.lostAt !== null || session.suspendedUntil !== null) livesOn(state, session, new Step());
  grantFree(state, request, file, entry.origin);
  settle(state);
  return true;
}

function release(state: BaseState, request: LockRelease, entry: Entry): boolean {
  if (request.retry !== undefined) return false;
  const hold = ownOne(state, request, entry.origin.node);
  if (hold === null) return false;
  advance(state, entry);
  removeHold(state.locks, hold);
  settle(state);
  return true;
}

function advance(state: BaseState, { seq, at }: Entry): void {
  state.seq = seq;
  state.t = Math.max(state.t, at);
}

/** Ends a step with one event: `lock_granted` or `lock_released`. */
function settle(state: BaseState): void {
  settleRoom(state);
  state.lastEventCursor = { epoch: state.epoch, seq: state.seq, n: 1 };
}
