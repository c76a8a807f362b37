/** What a snapshot has of messages and freezes. */
import { formList, head, valueList } from "../slice.ts";
import { addFreeze } from "./freeze-table.ts";
import type { Freezes, Message, Messages } from "./state.ts";
import { addMessage, type NewMessage } from "./table.ts";

export const messageRows = {
  head: head(
    ({ messages }: { readonly messages: Messages }) => ({
      messageCount: messages.count,
      sent: [...messages.sent],
    }),
    ({ messages }, { messageCount, sent }) => {
      messages.count = messageCount;
      for (const [by, times] of sent) messages.sent.set(by, times);
    },
  ),
  lists: {
    messages: formList(
      ({ messages }: { readonly messages: Messages }) => messages.all,
      plainMessage,
      ({ messages }, message) => addMessage(messages, message),
    ),
  },
};

export const freezeRows = {
  head: head(
    ({ freezes }: { readonly freezes: Freezes }) => ({ editHoldCount: freezes.count }),
    ({ freezes }, { editHoldCount }) => {
      freezes.count = editHoldCount;
    },
  ),
  lists: {
    editHolds: valueList(
      ({ freezes }: { readonly freezes: Freezes }) => freezes.all,
      ({ freezes }, freeze) => addFreeze(freezes, freeze),
    ),
  },
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
