/** Tools for messages and freezes: kite_message, kite_inbox, kite_broadcast, kite_thaw. */

import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import {
  broadcastSchema,
  type MessageRow,
  type MessageSendReply,
  messageAckSchema,
  messageSendSchema,
  resumeSchema,
} from "../../protocol/schemas/message.ts";
import { duration, frame, quote } from "../../protocol/text.ts";
import { absolute } from "../actor.ts";
import { fileTyped } from "../lockable.ts";
import { granted, throwIfUnknown } from "../with-daemon.ts";
import { inWords } from "./schema.ts";
import { type Tool, type ToolAnswer, tool } from "./tool.ts";

const { to, text: words, replyTo, urgent } = messageSendSchema.shape;

const message = tool({
  name: "kite_message",
  title: "Message an agent",
  description: "Write to an agent here, which reads it at its next step.",
  input: z.object({
    to: to.describe("A name, or everyone"),
    text: words,
    replyTo: replyTo.describe("Message id, instead of `to`"),
    urgent,
  }),
  run: async ({ client, actor }, given) =>
    sent(granted(await client.request("message_send", { ...actor, ...given }))),
});

const inbox = tool({
  name: "kite_inbox",
  title: "Read messages",
  description: "Unread messages. Answer with kite_message and `replyTo`.",
  input: z.object({
    done: messageAckSchema.shape.messages.describe("Ids that need nothing more"),
    all: z.boolean().optional().describe("Also read ones"),
  }),
  run: async ({ client, actor, after }, { done, all = false }) => {
    if (done !== undefined) granted(await client.request("message_ack", { ...actor, messages: done }));
    const limit = limits.mcpInboxMax;
    const answer = granted(await client.request("message_list", { ...actor, unread: !all, limit }));
    const { messages, next } = answer;
    if (messages.length === 0) throwIfUnknown([answer]);
    const fresh = messages.filter(({ state }) => state === "unread").map(({ id }) => id);
    // The messages count as read only once the client has the answer.
    if (fresh.length > 0) {
      after(async () => {
        await client.request("message_ack", { ...actor, messages: fresh, read: true });
      });
    }
    const rest = next === undefined ? [] : ["- and more: call again"];
    const lines = (isOfPerson: boolean) =>
      messages.filter(({ from }) => (from === null) === isOfPerson).map(row => `- ${line(row)}`);
    const ofAgents = lines(false);
    const framed = ofAgents.length === 0 ? [] : [frame, ...ofAgents];
    // A person's words are no notes of other agents.
    const text = messages.length === 0 ? "No new messages." : [...lines(true), ...framed, ...rest].join("\n");
    return { text, data: { note: frame, messages: messages.map(dataOf), more: next !== undefined } };
  },
});

const broadcast = tool({
  name: "kite_broadcast",
  title: "Write to everyone",
  description:
    "Write to all sessions here. `hold` freezes files they must not edit meanwhile; kite_thaw ends it.",
  input: z.object({
    message: broadcastSchema.shape.message,
    hold: broadcastSchema.shape.hold.meta(inWords("{files: [paths], ttlMs}")),
  }),
  run: async ({ client, actor, acting: { cwd } }, { message: text, hold }) => {
    const held = hold && { ...hold, files: hold.files.map(file => absolute(cwd, fileTyped(file))) };
    const given = { message: text, ...(held === undefined ? {} : { hold: held }) };
    const reply = granted(await client.request("broadcast", { ...actor, ...given }));
    const answer = sent(reply);
    if (reply.hold === undefined) return answer;
    const { hold: freeze, leftMs } = reply.hold;
    const ends = `Freeze ${freeze} ends in ${duration(leftMs)}, or by kite_thaw.`;
    return { text: `${answer.text} ${ends}`, data: { ...answer.data, freeze } };
  },
});

const thaw = tool({
  name: "kite_thaw",
  title: "End a freeze",
  description: "End your freezes, or one of them.",
  input: z.object({ freeze: resumeSchema.shape.hold.describe("See kite_status") }),
  run: async ({ client, actor }, { freeze }) => {
    const named = freeze === undefined ? {} : { hold: freeze };
    const { resumed } = granted(await client.request("resume", { ...actor, ...named }));
    const text = resumed.length === 0 ? "You froze nothing." : `Ended ${resumed.join(", ")}.`;
    return { text, data: { ended: resumed } };
  },
});

export const messageTools: readonly Tool[] = [message, inbox, broadcast, thaw];

function sent({ message: { id, thread, to: reached }, full = [] }: MessageSendReply): ToolAnswer {
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
  return from === null ? personName("agent") : from.name;
}
