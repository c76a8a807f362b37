/** Tools for messages and freezes: kite_message, kite_inbox, kite_broadcast, kite_thaw. */

import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { personName, personOnWire } from "../../protocol/names.ts";
import { type ContextRow, contextGetSchema, contextSetSchema } from "../../protocol/schemas/context.ts";
import { type DeclareReply, declarationShape, type Overlap } from "../../protocol/schemas/declaration.ts";
import {
  broadcastSchema,
  type MessageRow,
  type MessageSendReply,
  messageAckSchema,
  messageSendSchema,
  resumeSchema,
} from "../../protocol/schemas/message.ts";
import { duration, escaped, frame, nearPath, nearPathsIn, plain, quote } from "../../protocol/text.ts";
import { wholePaths } from "../agents/declare.ts";
import type { ToolAnswer } from "../agents/verb.ts";
import { absolute } from "../context/actor.ts";
import { fileTyped } from "../context/project.ts";
import { granted, throwIfUnknown } from "../context/with-daemon.ts";
import { type Call, inWords, looks, type Tool, tool } from "./tool.ts";

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
  run: async ({ client, actor }, input) =>
    sent(granted(await client.request("message_send", { ...actor, ...input }))),
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
    const params = { message: text, ...(held === undefined ? {} : { hold: held }) };
    const reply = granted(await client.request("broadcast", { ...actor, ...params }));
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

// Tools of the shared notes: kite_context_set, kite_context_get.

const { key, ifVersion, ttlMs } = contextSetSchema.shape;

const set = tool({
  name: "kite_context_set",
  title: "Share a note",
  description: "Share a value with this project's agents: a decision, an interface. Replaces the old.",
  input: z.object({
    key: key.describe("Such as api/errors"),
    value: z.unknown(),
    ephemeral: z.boolean().optional().describe("Gone when Kite stops"),
    ifVersion: ifVersion.describe("Else refuse; 0: none yet"),
    ttlMs,
  }),
  run: async ({ client, actor }, { value, ephemeral, ...rest }) => {
    const json = z.json().parse(value ?? null);
    const set = { ...rest, value: json, durable: ephemeral !== true };
    const answer = granted(await client.request("context_set", { ...actor, ...set }));
    const text = `Shared as ${quote(answer.key)}, version ${answer.version}.`;
    return { text, data: { key: answer.key, version: answer.version } };
  },
});

const get = tool({
  name: "kite_context_get",
  title: "Read a note",
  description: "A shared value; without a key, all keys.",
  input: z.object({ key: contextGetSchema.shape.key.optional() }),
  annotations: looks,
  run: (call, input) => (input.key === undefined ? keys(call) : one(call, input.key)),
});

export const contextTools: readonly Tool[] = [set, get];

async function one({ client, actor }: Call, name: string): Promise<ToolAnswer> {
  const { value, ...row } = granted(await client.request("context_get", { ...actor, key: name }));
  // As JSON the value stays complete and cannot pass for Kite's own words.
  const json = escaped(JSON.stringify(value));
  const text = `${frame}\n${rowLine(row)}:\n${json}`;
  return { text, data: { note: frame, ...rowData(row) }, json };
}

async function keys({ client, actor }: Call): Promise<ToolAnswer> {
  const { rows, next } = granted(
    await client.request("context_list", { ...actor, limit: limits.mcpRowsMax }),
  );
  const lines = rows.map(row => `- ${rowLine(row)}`);
  const text = rows.length === 0 ? "Nothing is shared in this project." : [frame, ...lines].join("\n");
  return { text, data: { note: frame, keys: rows.map(rowData), more: next !== undefined } };
}

function rowLine({ key: name, fromName, version, bytes }: ContextRow): string {
  return `${quote(name)}, version ${version}, ${bytes} bytes, by ${fromName === personOnWire ? personName("agent") : quote(fromName)}`;
}

function rowData({ key: name, fromName, version, bytes, durable: kept }: ContextRow) {
  return { key: name, by: fromName, version, bytes, durable: kept };
}

// The tool by which an agent says what it is about: kite_declare.

const { identity, understanding, codeView, uncertainties, anew } = declarationShape;

const declare = tool({
  name: "kite_declare",
  title: "Declare",
  description:
    "Say your role, your task, the files you will change, what is uncertain. What is absent stays. Answers who else " +
    "declared these files, and what is missing.",
  input: z.object({
    identity: identity.meta(inWords("{role, team}")),
    understanding: understanding.meta(inWords("{task, confidence: 0 to 1, reason, plan: [steps]}")),
    codeView: codeView.meta(inWords("[{file or dir/, sees, will, drop: true}]")),
    uncertainties: uncertainties.meta(inWords("[{question, settledBy, evidence, resolved: true}]")),
    anew: anew.describe("Begin a new one"),
  }),
  run: async ({ client, actor, acting: { cwd } }, { codeView: view, ...rest }) => {
    const files = view === undefined ? {} : { codeView: await wholePaths(cwd, view) };
    const reply = granted(await client.request("declare", { ...actor, ...rest, ...files }));
    return { text: textOf(reply, cwd), data: declarationData(reply, cwd) };
  },
});

export const declareTools: readonly Tool[] = [declare];

function textOf({ overlaps, mismatches, missing, role, warnings = [] }: DeclareReply, cwd: string): string {
  const agree = overlaps.length === 0 ? [] : [frame, ...overlaps.map(one => `- ${overlapText(one, cwd)}`)];
  const lacks =
    missing.length === 0
      ? ["No gate asks for more."]
      : ["Missing:", ...missing.map(one => `- ${nearPathsIn(one, cwd)}`)];
  const differs = mismatches.map(one => `Your client says otherwise: ${plain(one)}`);
  const kept = warnings.map(one => plain(one));
  return [...agree, `Declared; your role is ${role}.`, ...kept, ...differs, ...lacks].join("\n");
}

function overlapText({ path, with: other, will }: Overlap, cwd: string): string {
  const who = quote(other.name);
  const what = will === "" ? "" : `, and will: ${quote(will)}`;
  return `${who} declared ${quote(nearPath(path, cwd))}, too${what}; agree with ${who} before you edit it (kite_message)`;
}

function declarationData(
  { declaration, overlaps, mismatches, missing, role: has }: DeclareReply,
  cwd: string,
) {
  const { role, team, task, confidence, plan, files, uncertainties: questions } = declaration;
  const agree = overlaps.map(({ path, with: other, will }) => {
    return { file: nearPath(path, cwd), by: other.name, will };
  });
  const open = questions.filter(one => !one.resolved).map(one => one.question);
  const view = files.map(({ path, touched }) => ({ file: nearPath(path, cwd), touched }));
  const declared = { role, team, task, confidence, plan, files: view, open };
  return { note: frame, overlaps: agree, declared, mismatches, missing, role: has };
}
