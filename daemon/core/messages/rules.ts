/** The rules of context, messages, notices and freezes: see `core/rules.ts`. */
import { contextDelete, contextSet, endItem } from "../context.ts";
import { itemKey } from "../context-index.ts";
import { freeing, lasting, lastingAndFreeing, passing } from "../durability.ts";
import { type TimedRules, timer } from "../rules.ts";
import type { TalkCommands, TalkDues } from "./commands.ts";
import { agentEnd, inboxTake, inboxTold, messageAck } from "./delivery.ts";
import { endFreeze, resume } from "./freezes.ts";
import type { NoteCommands } from "./notice-commands.ts";
import { conflictNoted, notesTold } from "./notices.ts";
import { broadcast, messageSend } from "./send.ts";

export const talkRules: TimedRules<TalkCommands & NoteCommands, TalkDues> = {
  commands: {
    context_set: { apply: contextSet, durable: "asked", frees: false },
    context_delete: lastingAndFreeing(contextDelete),
    message_send: lasting(messageSend),
    message_ack: lasting(messageAck),
    broadcast: lasting(broadcast),
    resume: freeing(resume),
    inbox_take: passing(inboxTake),
    inbox_told: passing(inboxTold),
    agent_end: freeing(agentEnd),
    conflict_noted: passing(conflictNoted),
    notes_told: passing(notesTold),
  },
  timers: {
    context_over: timer(
      ({ context }, { project, key, version }) => {
        const item = context.items.get(itemKey(project, key));
        return item?.version === version ? item : undefined;
      },
      item => item.endsAt,
      endItem,
    ),
    edit_hold_over: timer(
      ({ freezes }, due) => freezes.all.get(due.hold),
      hold => hold.until,
      (state, hold, step) => endFreeze(state, hold, "over", step),
    ),
  },
  *dues({ context, freezes }) {
    for (const { project, key, version, endsAt } of context.items.values())
      if (endsAt !== null) yield { what: "context_over", project, key, version };
    for (const hold of freezes.all.keys()) yield { what: "edit_hold_over", hold };
  },
};
