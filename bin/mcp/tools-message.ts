/** Tools for messages: kite_message, kite_inbox, kite_broadcast. */
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import {
  broadcastSchema,
  type MessageRow,
  type MessageSendReply,
  messageAckSchema,
  messageSendSchema,
} from "../../protocol/message.ts";
import { duration, frame, quote } from "../../protocol/text.ts";
import { absolute } from "../actor.ts";
import { granted } from "../with-daemon.ts";
import { adds, puts, type Said, type Tool, tool } from "./tool.ts";

const { to, text: words, replyTo, urgent } = messageSendSchema.shape;

const message = tool({
  name: "kite_message",
  title: "Write to another agent",
  description:
    "Write to another agent in this project, by its name or session id (see kite_status), or answer a message with " +
    "`replyTo`. The agent reads it at its next step. Say what you need from the agent or what it must know.",
  input: z.object({
    to: to.describe("A name such as alice, a session id or its beginning, or everyone"),
    text: words.describe("Plain text; line breaks are lost"),
    replyTo: replyTo.describe("The id of the message you answer; `to` can be left out then"),
    urgent,
  }),
  annotations: adds,
  run: async ({ client, actor }, given) =>
    sent(granted(await client.request("message_send", { ...actor, ...given }))),
});

const inbox = tool({
  name: "kite_inbox",
  title: "Read messages",
  description:
    "Messages to you that you have not read yet. Answer with kite_message and `replyTo`; name in `done` those that need " +
    "nothing more.",
  input: z.object({
    done: messageAckSchema.shape.messages.describe("Ids of messages that can leave the inbox"),
    all: z.boolean().optional().describe("Also messages that you have read and that are still in the inbox"),
  }),
  annotations: { ...puts, idempotentHint: false },
  run: async ({ client, actor, after }, { done, all = false }) => {
    if (done !== undefined) granted(await client.request("message_ack", { ...actor, messages: done }));
    const limit = limits.mcpInboxMax;
    const answer = granted(await client.request("message_list", { ...actor, unread: !all, limit }));
    const { messages, next } = answer;
    const fresh = messages.filter(({ state }) => state === "unread").map(({ id }) => id);
    // The messages count as read only once the client has the answer.
    if (fresh.length > 0) {
      after(async () => {
        await client.request("message_ack", { ...actor, messages: fresh, read: true });
      });
    }
    const rest = next === undefined ? [] : ["- and more: call again"];
    const lines = messages.map(row => `- ${line(row)}`);
    const text = messages.length === 0 ? "No new messages." : [frame, ...lines, ...rest].join("\n");
    return { text, data: { note: frame, messages: messages.map(dataOf), more: next !== undefined } };
  },
});

const broadcast = tool({
  name: "kite_broadcast",
  title: "Write to everyone",
  description:
    "Write to every other session in this project. With `hold`, Kite refuses other sessions' edits of some files for a " +
    "while: for changes that would break their work, such as a rename across the code.",
  input: z.object({ message: broadcastSchema.shape.message, hold: broadcastSchema.shape.hold }),
  annotations: adds,
  run: async ({ client, actor, acting: { cwd } }, { message: text, hold }) => {
    const held = hold && { ...hold, files: hold.files.map(file => absolute(cwd, file)) };
    const given = { message: text, ...(held === undefined ? {} : { hold: held }) };
    return sent(granted(await client.request("broadcast", { ...actor, ...given })));
  },
});

export const messageTools: readonly Tool[] = [message, inbox, broadcast];

function sent({ message: { id, thread, to: reached }, full = [] }: MessageSendReply): Said {
  const names = reached.map(({ name }) => name);
  const missed = full.map(({ name }) => name);
  const rest =
    missed.length === 0 ? "" : ` The inbox of ${missed.map(name => quote(name)).join(", ")} is full.`;
  const whom =
    names.length === 0
      ? "nobody: the project has no other session"
      : names.map(name => quote(name)).join(", ");
  return { text: `Sent as ${id} to ${whom}.${rest}`, data: { id, thread, to: names, full: missed } };
}

function line(row: MessageRow): string {
  const { id, text, urgent: isUrgent, at, replyTo: answered, undelivered } = row;
  const reply = answered === null ? "" : `, in answer to ${answered}`;
  const back = undelivered === null ? "" : `, your own, returned: it did not reach ${quote(undelivered)}`;
  const from = `${isUrgent ? "urgent, " : ""}from ${quote(nameOf(row))}, ${duration(Date.now() - at)} ago${reply}${back}`;
  return `${id}, ${from}: ${quote(text, limits.messageBytes)}`;
}

function dataOf(row: MessageRow) {
  const { id, text, urgent: isUrgent, at, replyTo: answered, thread, broadcast: toAll, undelivered } = row;
  const secondsAgo = Math.max(0, Math.floor((Date.now() - at) / 1000));
  return {
    id,
    from: nameOf(row),
    text,
    urgent: isUrgent,
    secondsAgo,
    replyTo: answered,
    thread,
    toAll,
    undelivered,
  };
}

function nameOf({ from }: MessageRow): string {
  return from === null ? "a person at a terminal" : from.name;
}
