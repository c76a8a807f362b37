/** What a snapshot has of messages and freezes. */
import { formList, head, numberHead, valueList } from "../rows.ts";
import { addFreeze } from "./freeze-table.ts";
import type { Freezes, Message, Messages } from "./state.ts";
import { addMessage, type NewMessage } from "./table.ts";

export const messageRows = {
  head: head(
    ({ count, sent }: Messages) => ({ messageCount: count, sent: [...sent] }),
    (messages, { messageCount, sent }) => {
      messages.count = messageCount;
      for (const [by, times] of sent) messages.sent.set(by, times);
    },
  ),
  lists: { messages: formList((messages: Messages) => messages.all, plainMessage, addMessage) },
};

export const freezeRows = {
  head: numberHead("editHoldCount", "count"),
  lists: { editHolds: valueList((freezes: Freezes) => freezes.all, addFreeze) },
};

function plainMessage(message: Message): NewMessage {
  return {
    id: message.id,
    order: message.order,
    project: message.project,
    from: message.from,
    text: message.text,
    bytes: message.bytes,
    replyTo: message.replyTo,
    thread: message.thread,
    urgent: message.urgent,
    broadcast: message.broadcast,
    at: message.at,
    letters: [...message.letters.values()],
  };
}
