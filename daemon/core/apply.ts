/**
 * Applies entries: the only way to change the state.
 * Invariant: the same entries in the same order give the same state and steps, on every machine and in every replay.
 */

import { refuse } from "../../protocol/codes.ts";
import { assert } from "./assert.ts";
import type { CommandOf, CommandType, Entry } from "./commands.ts";
import { freeing, lastingAndFreeing } from "./durability.ts";
import { grantWaiters } from "./locks/grant.ts";
import { askedAgain } from "./locks/request.ts";
import { endedSpeaker, unauthorized } from "./nodes/authority.ts";
import { personIn } from "./nodes/people.ts";
import { namedByNode, takeTraits } from "./nodes/sessions.ts";
import { isAfter, putLease } from "./nodes/table.ts";
import type { Retry } from "./origin.ts";
import { Step } from "./outcome.ts";
import { keepReply, keptReply, retryAt } from "./retries.ts";
import { ruleList } from "./rule-list.ts";
import { type CommandRules, joined, type Meta } from "./rules.ts";
import { settleRoom } from "./sessions/room.ts";
import type { State } from "./state.ts";
import { elapse } from "./timers.ts";

/** Every command's handler and durability. */
export const commandRules: CommandRules<CommandType, State> = {
  ...joined(ruleList.map(({ commands }) => commands)),
  elapse: freeing(elapse),
  relayed: lastingAndFreeing(relayed),
};

/**
 * The types of commands that a shared log takes from its nodes. The daemon of a node enters the other types into its own log
 * alone; what the shared log has to know of them comes out of the outbox, as `relayed`.
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
  // The log of one daemon asks nothing of this.
  const hasNodes = state.leases.isShared;
  if (hasNodes) step.reply = unauthorized(state, entry, sharedCommands);
  if (step.reply !== null) return step;
  const retry = retryOf(entry, hasNodes);
  const kept = retry === undefined ? null : keptReply(state, retry, entry.origin);
  if (kept !== null) {
    step.reply = kept;
    if (kept.ok && entry.command.type === "lock_request") askedAgain(state, entry.command, entry.origin);
    return step;
  }
  if (hasNodes) step.reply = endedSpeaker(state, entry.command);
  if (step.reply !== null) return step;
  if (hasNodes) step.person = personIn(state, entry);
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

/** Applies a command from a node's outbox, unless the log has had it. */
function relayed(state: State, relay: CommandOf<"relayed">, meta: Meta, step: Step): void {
  const { number, after, command } = relay;
  step.reply = { ok: true };
  const lease = state.leases.all.get(meta.origin.node);
  if (lease === undefined || !isAfter(number, lease.relayed)) return;
  if (after !== undefined && isAfter(after, lease.relayed)) {
    step.reply = refuse(
      "outbox_gap",
      `row ${after.epoch}.${after.n} of the outbox did not come before this one`,
    );
    return;
  }
  putLease(state.leases, { ...lease, relayed: number });
  run(state, namedByNode(command, lease), meta, step);
  takeTraits(state, command, step);
}

function retryOf({ command, origin }: Entry, hasNodes: boolean): Retry | undefined {
  const retry = "retry" in command ? command.retry : undefined;
  return hasNodes && retry !== undefined ? retryAt(retry, origin.node) : retry;
}
