/**
 * Applies entries: the only way to change the state.
 * Invariant: the same entries in the same order give the same state and steps, on every machine and in every replay.
 */

import { assert } from "./assert.ts";
import type { CommandOf, CommandType, Entry } from "./commands.ts";
import { contextDelete, contextSet } from "./context.ts";
import { daemonStarted, rules, voidEntry } from "./daemon.ts";
import { declare } from "./declarations/declare.ts";
import { workReturned, writesNoted, writesSettled } from "./files/dirty-files.ts";
import { workTaken } from "./files/work-taken.ts";
import type { Handler, Meta } from "./handler.ts";
import { checkRecord } from "./lead/checks/record.ts";
import { debateClose } from "./lead/debates/close.ts";
import { debateEnter } from "./lead/debates/enter.ts";
import { debateOpen } from "./lead/debates/open.ts";
import { agentRelease } from "./lead/health/release.ts";
import { mergeCancel, mergeReport } from "./lead/merges/end.ts";
import { mergeQueue } from "./lead/merges/queue.ts";
import { mergeAttach, mergeTake, mergeUnbind } from "./lead/merges/run.ts";
import { roleSet } from "./lead/roles/given.ts";
import { spawnCreate } from "./lead/spawns/create.ts";
import { sessionBeginAsAgent } from "./lead/spawns/register.ts";
import { spawnReplace } from "./lead/spawns/replace.ts";
import { spawnMoved, spawnRemove, spawnUpdate } from "./lead/spawns/update.ts";
import { teammateNamed } from "./lead/teams/teammates.ts";
import { grantWaiters } from "./locks/grant.ts";
import { flightEnd, leaseRenew } from "./locks/in-flight.ts";
import {
  lockDetach,
  lockRelease,
  lockRevoke,
  lockUnbind,
  lockUndelivered,
  turnEnd,
} from "./locks/release.ts";
import { askedAgain, lockRequest } from "./locks/request.ts";
import { flightUnseen } from "./locks/unseen.ts";
import { agentEnd, inboxTake, inboxTold, messageAck } from "./messages/delivery.ts";
import { resume } from "./messages/freezes.ts";
import { conflictNoted, notesTold } from "./messages/notices.ts";
import { broadcast, messageSend } from "./messages/send.ts";
import type { Retry } from "./origin.ts";
import { Step } from "./outcome.ts";
import { keepReply, keptReply, replyUnheard } from "./retries.ts";
import { agentBegin } from "./sessions/agents.ts";
import { sessionEnd, sessionFound, sessionLost, sessionSuspend } from "./sessions/end.ts";
import { sessionRename } from "./sessions/rename.ts";
import { settleRoom } from "./sessions/room.ts";
import { stashesNoted } from "./stashes/note.ts";
import type { State } from "./state.ts";
import { taskApprove } from "./tasks/approve.ts";
import { taskClaim, taskRelease } from "./tasks/claim.ts";
import { taskCreate, taskImport, taskRemove } from "./tasks/create.ts";
import { taskUpdate } from "./tasks/update.ts";
import { elapse } from "./timers.ts";

/** One handler per command; a missing one does not compile. */
const handlers: { readonly [T in CommandType]: Handler<T, State> } = {
  daemon_started: daemonStarted,
  session_begin: sessionBeginAsAgent,
  session_end: sessionEnd,
  session_lost: sessionLost,
  session_found: sessionFound,
  lock_request: lockRequest,
  lock_detach: lockDetach,
  lock_undelivered: lockUndelivered,
  reply_unheard: replyUnheard,
  lock_release: lockRelease,
  lock_revoke: lockRevoke,
  lock_unbind: lockUnbind,
  turn_end: turnEnd,
  flight_end: flightEnd,
  writes_noted: writesNoted,
  writes_settled: writesSettled,
  work_returned: workReturned,
  lease_renew: leaseRenew,
  flight_unseen: flightUnseen,
  session_suspend: sessionSuspend,
  task_create: taskCreate,
  task_import: taskImport,
  task_update: taskUpdate,
  task_claim: taskClaim,
  task_release: taskRelease,
  task_remove: taskRemove,
  task_approve: taskApprove,
  role_set: roleSet,
  session_rename: sessionRename,
  declare,
  debate_open: debateOpen,
  debate_enter: debateEnter,
  debate_close: debateClose,
  check_record: checkRecord,
  spawn_create: spawnCreate,
  spawn_replace: spawnReplace,
  spawn_update: spawnUpdate,
  spawn_moved: spawnMoved,
  spawn_remove: spawnRemove,
  merge_queue: mergeQueue,
  merge_take: mergeTake,
  merge_attach: mergeAttach,
  merge_report: mergeReport,
  merge_cancel: mergeCancel,
  merge_unbind: mergeUnbind,
  context_set: contextSet,
  context_delete: contextDelete,
  message_send: messageSend,
  message_ack: messageAck,
  inbox_take: inboxTake,
  inbox_told: inboxTold,
  broadcast,
  resume,
  agent_begin: agentBegin,
  teammate_named: teammateNamed,
  agent_end: agentEnd,
  agent_release: agentRelease,
  conflict_noted: conflictNoted,
  notes_told: notesTold,
  work_taken: workTaken,
  stashes_noted: stashesNoted,
  elapse,
  rules,
  void: voidEntry,
};

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
  handlers[command.type](state, command, meta, step);
}

function retryOf(entry: Entry): Retry | undefined {
  return "retry" in entry.command ? entry.command.retry : undefined;
}
