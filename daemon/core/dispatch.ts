/** The base's rules: which function handles each command and timer of its tables, and what must be on disk before its answer. */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { endFreeze, resume } from "./locks/freezes.ts";
import { detachWaiter } from "./locks/grant.ts";
import { loansOf } from "./locks/inherit.ts";
import {
  lockDetach,
  lockDues,
  lockRelease,
  lockRevoke,
  lockTimers,
  lockUnbind,
  lockUndelivered,
  turnEnd,
} from "./locks/release.ts";
import { lockRequest } from "./locks/request.ts";
import { flightEnd, flightUnseen, leaseRenew, markUnseen } from "./locks/writes.ts";
import {
  contextDelete,
  contextRead,
  contextSet,
  countUses,
  dropVolatile,
  endItem,
  lookAtUse,
  useLookAt,
} from "./messages/context.ts";
import { agentEnd, inboxTake, inboxTold, messageAck, messageImport } from "./messages/delivery.ts";
import { forgetOffers } from "./messages/inbox.ts";
import { broadcast, messageSend } from "./messages/send.ts";
import { agentBegin, sessionActs, sessionBegin } from "./sessions/begin.ts";
import {
  sessionDues,
  sessionEnd,
  sessionFound,
  sessionLost,
  sessionSuspend,
  sessionTimers,
} from "./sessions/end.ts";
import { sessionRename } from "./sessions/names.ts";
import { noRoom } from "./sessions/room.ts";
import type { Meta } from "./tables/base-state.ts";
import {
  type BaseState,
  type ContextItem,
  forgetRefusals,
  type Rules,
  replyUnheard,
  rulesKnown,
  type TimedRules,
  timer,
} from "./tables/base-state.ts";
import { itemKey } from "./tables/context.ts";
import type { DeclarationCommands } from "./tables/declarations.ts";
import type { CommandOf, Step } from "./tables/entries.ts";
import { type Commands, freeing, lasting, lastingAndFreeing, passing } from "./tables/entries.ts";
import type { LockCommands, LockDues } from "./tables/locks.ts";
import type { NoteCommands, TalkCommands, TalkDues } from "./tables/messages.ts";
import { conflictNoted, noteGiven, notesTold } from "./tables/notices.ts";
import type { SessionCommands, SessionDues } from "./tables/sessions.ts";
import type { TaskCommands } from "./tables/tasks.ts";
import type { WriteCommands } from "./tables/uncommitted.ts";
import { taskClaim, taskRelease } from "./tasks/claim.ts";
import { taskCreate, taskImport, taskRemove } from "./tasks/create.ts";
import { taskReturn } from "./tasks/leave.ts";
import { taskApprove, taskUpdate } from "./tasks/update.ts";
import { declare } from "./work/declare.ts";
import { declarationPart } from "./work/declared-elsewhere.ts";
import { workReturned, writesNoted, writesSettled } from "./work/dirty-files.ts";
import { workTaken, workWiped } from "./work/losses.ts";
import { forgetParts } from "./work/shared-parts.ts";

// Commands about the daemon itself: its start, the level of rules, voided entries. Invariant: epochs only rise.

/**
 * Begins a new epoch of a node's daemon, whose earlier connections are gone. Its waiters keep their queue positions
 * for `limits.placeMs`, and its bound locks and merges wait `limits.boundGraceMs` for their clients to return. Writes in
 * flight may have ended meanwhile: see `unseen.ts`.
 */
function daemonStarted(state: BaseState, command: CommandOf<"daemon_started">, meta: Meta, step: Step): void {
  const { node } = meta.origin;
  const before = state.nodes.get(node);
  if (before !== undefined && command.epoch <= before.epoch) {
    step.reply = refuse("internal_error", `epoch ${command.epoch} is not after ${before.epoch}`);
    return;
  }
  step.reply = { ok: true };
  if (state.storeId === "") state.storeId = command.storeId;
  // Two nodes may start at once, and the log may have the later one first.
  state.epoch = Math.max(state.epoch, command.epoch);
  state.nodes.delete(node);
  state.nodes.set(node, { epoch: command.epoch, at: state.t });
  if (before === undefined) return;
  dropVolatile(state, node, step);
  forgetOffers(state, node);
  forgetRefusals(state, node);
  for (const waiter of state.locks.waiters.values()) {
    if (waiter.origin === null || waiter.origin.node !== node) continue;
    detachWaiter(state, waiter, limits.placeMs, step);
  }
  const at = state.t + limits.boundGraceMs;
  for (const hold of state.locks.holds.values()) {
    for (const { first, bound } of [hold, ...loansOf(hold)]) {
      if (bound?.node !== node) continue;
      step.timers.push({ at, due: { what: "bound_over", key: hold.key, first: first.grant } });
    }
  }
  for (const { daemonStarts } of state.points) daemonStarts?.(state, node, step);
  if (state.rules >= 2) markUnseen(state, node, step);
}

function rules(state: BaseState, command: CommandOf<"rules">, meta: Meta, step: Step): void {
  if (!rulesKnown.includes(command.level)) throw new Error(`rules level ${command.level} is unknown here`);
  // The start that raises the level has served nobody yet: it saw no write begin.
  if (state.rules < 2 && command.level >= 2) markUnseen(state, meta.origin.node, step);
  const isRaised = state.rules < 2 && command.level >= 2;
  state.rules = command.level;
  if (isRaised) countUses(state, step);
  step.reply = { ok: true };
}

/** Changes nothing: a replay of the log skips the entry that the command names. */
function voidEntry(_state: BaseState, _command: CommandOf<"void">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
}

export const daemonRules: Rules<Pick<Commands, "daemon_started" | "reply_unheard" | "rules" | "void">> = {
  commands: {
    daemon_started: lastingAndFreeing(daemonStarted),
    reply_unheard: freeing(replyUnheard),
    rules: lastingAndFreeing(rules),
    void: freeing(voidEntry),
  },
};

// The rules of declarations.

export const declarationRules: Rules<DeclarationCommands> = {
  commands: { declare: passing(declare) },
  points: { parts: { declaration: declarationPart } },
};

// What goes with an agent in a shared project.

export const sharedPartRules: Rules<object> = {
  commands: {},
  points: {
    agentEnds: (state, session, agent) => forgetParts(state, session, agent),
    sessionEnds: (state, { id }) => forgetParts(state, id),
  },
};

// The rules of uncommitted work.

export const writeRules: Rules<WriteCommands> = {
  commands: {
    writes_noted: passing(writesNoted),
    writes_settled: passing(writesSettled),
    work_returned: passing(workReturned),
    work_taken: passing(workTaken),
    work_wiped: passing(workWiped),
  },
};

// The rules of locks.

export const lockRules: TimedRules<LockCommands, LockDues> = {
  commands: {
    lock_request: passing(lockRequest),
    lock_detach: freeing(lockDetach),
    lock_undelivered: freeing(lockUndelivered),
    lock_release: freeing(lockRelease),
    lock_revoke: freeing(lockRevoke),
    lock_unbind: freeing(lockUnbind),
    turn_end: freeing(turnEnd),
    flight_end: passing(flightEnd),
    lease_renew: passing(leaseRenew),
    flight_unseen: freeing(flightUnseen),
  },
  timers: lockTimers,
  dues: lockDues,
};

// The rules of context, messages, notices and freezes.

/** Returns the item of the timer, unless it was written since. */
function versionOf(
  { context }: BaseState,
  { project, key, version }: TalkDues["context_over"],
): ContextItem | undefined {
  const item = context.items.get(itemKey(project, key));
  return item?.version === version ? item : undefined;
}

export const talkRules: TimedRules<TalkCommands & NoteCommands, TalkDues> = {
  commands: {
    context_set: { apply: contextSet, durable: "asked", frees: false },
    context_delete: lastingAndFreeing(contextDelete),
    context_read: passing(contextRead),
    message_send: lasting(messageSend),
    message_ack: lasting(messageAck),
    message_import: lasting(messageImport),
    broadcast: lasting(broadcast),
    resume: freeing(resume),
    inbox_take: passing(inboxTake),
    inbox_told: passing(inboxTold),
    agent_end: freeing(agentEnd),
    conflict_noted: passing(conflictNoted),
    notes_told: passing(notesTold),
    note_given: passing(noteGiven),
  },
  // A broadcast without a freeze.
  shared: [
    "context_set",
    "context_delete",
    "context_read",
    "message_send",
    "message_ack",
    "broadcast",
    "inbox_take",
    "inbox_told",
  ],
  timers: {
    context_over: timer(versionOf, item => item.endsAt, endItem),
    context_unused: timer(versionOf, (item, state) => useLookAt(state, item), lookAtUse),
    edit_hold_over: timer(
      ({ freezes }, due) => freezes.all.get(due.hold),
      hold => hold.until,
      (state, hold, step) => endFreeze(state, hold, "over", step),
    ),
  },
  *dues({ context, freezes }) {
    for (const { project, key, version, endsAt } of context.items.values())
      yield { what: endsAt === null ? "context_unused" : "context_over", project, key, version };
    for (const hold of freezes.all.keys()) yield { what: "edit_hold_over", hold };
  },
};

// The rules of sessions.

export const sessionRules: TimedRules<SessionCommands, SessionDues> = {
  commands: {
    session_begin: passing(sessionBegin),
    session_rename: lasting(sessionRename),
    session_end: freeing(sessionEnd),
    session_lost: freeing(sessionLost),
    session_found: passing(sessionFound),
    session_suspend: passing(sessionSuspend),
    agent_begin: passing(agentBegin),
  },
  timers: sessionTimers,
  dues: sessionDues,
  points: { sessionActs, roomForSession: state => noRoom(state, null) },
};

// The rules of tasks.

export const taskRules: Rules<TaskCommands> = {
  commands: {
    task_create: lasting(taskCreate),
    task_import: lasting(taskImport),
    task_update: lasting(taskUpdate),
    task_claim: lasting(taskClaim),
    task_release: lastingAndFreeing(taskRelease),
    task_remove: lasting(taskRemove),
    task_approve: lasting(taskApprove),
    task_return: lasting(taskReturn),
  },
  shared: [
    "task_create",
    "task_import",
    "task_update",
    "task_claim",
    "task_release",
    "task_remove",
    "task_approve",
    "task_return",
  ],
};
