/** The rules of context, messages, notices and freezes: see `core/rules.ts`. */
import type { BaseState, ContextItem } from "../base-state.ts";
import { contextDelete, contextRead, contextSet, endItem, lookAtUse, useLookAt } from "../context.ts";
import { itemKey } from "../context-index.ts";
import { freeing, lasting, lastingAndFreeing, passing } from "../durability.ts";
import { type TimedRules, timer } from "../rules.ts";
import type { TalkCommands, TalkDues } from "./commands.ts";
import { agentEnd, inboxTake, inboxTold, messageAck } from "./delivery.ts";
import { endFreeze, resume } from "./freezes.ts";
import { messageImport } from "./import.ts";
import type { NoteCommands } from "./notice-commands.ts";
import { conflictNoted, notesTold } from "./notices.ts";
import { broadcast, messageSend } from "./send.ts";

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
  },
  // A broadcast without a freeze, and notices of the shared log.
  shared: [
    "context_set",
    "context_delete",
    "context_read",
    "message_send",
    "message_ack",
    "broadcast",
    "inbox_take",
    "inbox_told",
    "notes_told",
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
