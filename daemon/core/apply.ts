/**
 * Applies entries: the only way to change the state.
 * Invariant: the same entries in the same order give the same state and steps, on every machine and in every replay.
 */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Retry } from "./frame/actors.ts";
import { assert } from "./frame/collections.ts";
import { grantWaiters } from "./locks/grant.ts";
import { removeHold } from "./locks/holds.ts";
import { ownOne } from "./locks/release.ts";
import { askedAgain, freeFile, grantFree, mayAskAs } from "./locks/request.ts";
import { everyone } from "./messages/send.ts";
import { livesOn } from "./sessions/begin.ts";
import { countPresent, settleRoom } from "./sessions/room.ts";
import { ruleList } from "./slices.ts";
import type { State } from "./state.ts";
import {
  type BaseState,
  type CommandRules,
  joined,
  keepReply,
  keptReply,
  type Meta,
  type TimerRules,
} from "./tables/base-state.ts";
import {
  type Command,
  type CommandOf,
  type CommandType,
  type Due,
  type DueName,
  type DueOf,
  type Entry,
  freeing,
  passing,
  Step,
  type Timer,
} from "./tables/entries.ts";
import { countOfSession, type LockRelease, type LockRequest } from "./tables/locks.ts";

// Timers of the core, which has no clock. A step names what is due when; the engine proposes it at that time.
// Invariant: an `elapse` that no longer fits the state is refused and changes nothing.

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

function elapse(state: State, { due }: CommandOf<"elapse">, _meta: Meta, step: Step): void {
  const at = dueAt(state, due);
  if (at === null || at > state.t) {
    step.reply = refuse("invalid_request", `${due.what} is not due`);
    return;
  }
  step.reply = { ok: true };
  over(state, due, step);
}

/** Commands of earlier programs. A journal may have entries of them, which are refused and change nothing. */
export const retiredCommands: ReadonlySet<string> = new Set(["branch_files"]);

/** Commands of a log that machines shared before a store had rows. A journal that has one of them is not read. */
export const replicatedCommands: ReadonlySet<string> = new Set([
  ...["node_renew", "node_leave", "node_sessions_are", "session_continue", "actor_part", "node_part"],
  ...["relayed", "sharing_set", "outbox_sent"],
]);

function refuseRetired(_state: State, { type }: { readonly type: string }, _meta: Meta, step: Step): void {
  step.reply = refuse("invalid_request", `${type} is a command that Kite had before: it changes nothing`);
}

/** Every command's handler and durability. */
export const commandRules: CommandRules<CommandType, State> = {
  ...joined(ruleList.map(({ commands }) => commands)),
  elapse: freeing(elapse),
  ...Object.fromEntries([...retiredCommands].map(type => [type, passing(refuseRetired)])),
};

/**
 * The types of commands that belong to a shared project, if theirs is shared. A machine's daemon enters all others into its
 * own log.
 */
export const sharedCommands: ReadonlySet<CommandType> = new Set(
  ruleList.flatMap(rules => ("shared" in rules ? (rules.shared ?? []) : [])),
);

/**
 * Applies one entry and returns its replies, events and timers. Throws only on a bug: the caller must then rebuild
 * the state without the entry, because it may be half changed.
 */
export function apply(state: State, entry: Entry): Step {
  assert(entry.seq === state.seq + 1, () => `entry ${entry.seq} does not follow ${state.seq}`);
  state.seq = entry.seq;
  state.t = Math.max(state.t, entry.at);
  const step = new Step();
  step.lastEventCursor = state.lastEventCursor;
  const retry = retryOf(entry);
  const kept = retry === undefined ? null : keptReply(state, retry, entry.origin);
  if (kept !== null) {
    step.reply = kept;
    if (kept.ok && entry.command.type === "lock_request") askedAgain(state, entry.command, entry.origin);
    return step;
  }
  run(state, entry.command, entry, step);
  grantWaiters(state, step);
  settleRoom(state);
  const n = step.events.length === 0 ? 0 : step.events.filter(e => e.to === undefined).length;
  if (n > 0) state.lastEventCursor = { epoch: state.epoch, seq: entry.seq, n };
  if (retry !== undefined && step.reply !== null) keepReply(state, retry, step.reply, entry.origin);
  return step;
}

/** Skips a voided entry: only `seq` advances. */
export function skip(state: State, entry: Entry): void {
  assert(entry.seq === state.seq + 1, () => `entry ${entry.seq} does not follow ${state.seq}`);
  state.seq = entry.seq;
}

function run<T extends CommandType>(state: State, command: CommandOf<T>, meta: Meta, step: Step): void {
  commandRules[command.type].apply(state, command, meta, step);
}

function retryOf({ command }: Entry): Retry | undefined {
  return "retry" in command ? command.retry : undefined;
}

// Applies a lock or unlock of one file while nobody waits for any, and makes no replies and no events. A replay uses it,
// because nobody gets them there. Without it, a start with 300,000 entries takes 1.25 to 1.35 times the processor time.
//
// Invariant: it changes the state as `apply` does, or not at all; `tests/unit/core-apply.test.ts` compares the two, and
// so does the simulation, whose replays take it.

/** Applies the entry and returns true, or changes nothing: then it is for `apply`. */
export function applyUnheard(state: BaseState, entry: Entry): boolean {
  const { command } = entry;
  // The plain way applies entries out of order, too, and those while anybody waits.
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
  if (session.lostAt !== null || session.suspendedUntil !== null) livesOn(state, session);
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

// What commands cost, so that one turn of the event loop stores and applies a bounded part of many.

/** Returns roughly how many rows the command will change, at least 1: locks, tasks, letters. It visits none of them. */
export function costOf(state: BaseState, command: Command): number {
  switch (command.type) {
    case "lock_request":
      return Math.max(1, command.files.length);
    case "lock_release":
      return 1 + (command.files === "all" ? lockCost(state, command.actor.session) : command.files.length);
    case "session_end":
    case "session_suspend":
      return endCost(state, command.session);
    case "elapse":
      return "session" in command.due ? endCost(state, command.due.session) : 1;
    case "task_create":
    case "task_import":
    case "task_remove":
      return Math.max(1, command.tasks.length);
    case "message_send":
      return command.to === everyone ? 1 + countPresent(state.sessions, command.project) : 1;
    case "broadcast":
      return 1 + countPresent(state.sessions, command.project);
    default:
      return 1;
  }
}

function endCost(state: BaseState, session: string): number {
  let letters = 0;
  for (const key of state.messages.bySession.get(session) ?? [])
    letters += state.messages.inboxes.get(key)?.all.size ?? 0;
  return limits.sessionEndCost + lockCost(state, session) + letters;
}

function lockCost({ locks }: BaseState, session: string): number {
  const { held, queued } = countOfSession(locks.actors, session);
  return held + queued;
}
