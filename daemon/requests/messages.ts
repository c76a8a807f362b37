/** message_send, message_list, message_ack, broadcast, resume. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { contextRequests } from "../../protocol/schemas/context.ts";
import type { messageRequests } from "../../protocol/schemas/message.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { FileRef } from "../core/frame/actors.ts";
import { contextAbsent, contextAt, isReadNews } from "../core/messages/context.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import type { ContextItem } from "../core/tables/base-state.ts";
import { itemKey } from "../core/tables/context.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { ContextSet } from "../core/tables/messages.ts";
import { mailLogs } from "../engine/log-view.ts";
import { refs } from "../facts/facts.ts";
import type { Services } from "../options.ts";
import { type Call, isRefusal, type Steps } from "../server/call.ts";
import { signOfLife } from "../sessions/proposals.ts";
import { noteReply } from "../trail/decisions.ts";
import { contextPage, contextRow, inboxPage, inboxPlaceOf } from "../views/messages.ts";
import { beyondReach } from "./agent-reach.ts";
import { actorOfId, callerOf, type DaemonServices, forward, type HandlersOf, projectOf } from "./handler.ts";

/** The trail has sender and recipient, without the text. */
const line = () => ({ rule: "message" });

export const messageHandlers: HandlersOf<typeof messageRequests, DaemonServices> = {
  message_send: forward<"message_send">({
    command: (request, { by: actor, project, wallMs }) => {
      const { to = null, text, replyTo = null, urgent = false } = request;
      const bytes = Buffer.byteLength(text);
      if (bytes > limits.messageBytes) return tooLong(bytes);
      return { type: "message_send", actor, project, to, text, bytes, replyTo, urgent, wallMs };
    },
    line,
  }),
  message_list: (services, request, call) => call.replyLong(() => listed(services, request, call)),
  message_ack: forward<"message_ack", DaemonServices>({
    command: (request, { by: actor }, { acknowledged, engine }) => {
      const { message, messages: several = [], read } = request;
      const messages = message === undefined ? [...new Set(several)] : [message];
      if (read === undefined) acknowledged.asked(request, engine, actor, messages);
      return { type: "message_ack", actor, messages, ...(read === undefined ? {} : { read }) };
    },
    reply: (reply, request, { acknowledged }) => {
      if (reply.ok) acknowledged.granted(request);
      return reply;
    },
    line,
  }),
  broadcast: async (services, request, call) => {
    const { id, message: text, hold } = request;
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.messageBytes) {
      call.reply(tooLong(bytes));
      return;
    }
    const files = hold === undefined ? [] : await heldFiles(services, id, hold.files);
    if (isRefusal(files)) {
      noteReply(services, call.type, callerOf(services, request, call), files, { rule: "freeze" });
      call.reply(files);
      return;
    }
    const held = hold === undefined ? null : { files, ttlMs: hold.ttlMs };
    const post = forward<"broadcast">({
      command: (_, { by: actor, project, wallMs }) => ({
        type: "broadcast",
        ...{ actor, project, text, bytes, hold: held, wallMs },
      }),
      line,
    });
    post(services, request, call);
  },
  resume: async (services, request, call) => {
    const { id, hold = null, files: names } = request;
    const files = names === undefined ? undefined : await namedFiles(services, id, names, "resume: files");
    if (files !== undefined && isRefusal(files)) {
      noteReply(services, call.type, callerOf(services, request, call), files, { rule: "freeze" });
      call.reply(files);
      return;
    }
    const end = forward<"resume">({
      command: (_, { by: actor, project }) => ({
        ...{ type: "resume", actor, project, hold },
        ...(files === undefined ? {} : { files }),
      }),
      line: () => ({ rule: "freeze" }),
    });
    end(services, request, call);
  },
};

function* listed(services: Services, request: RequestOf<"message_list">, call: Call): Steps<string | Reply> {
  const { engine } = services;
  const { id, after } = request;
  if (!engine.state.sessions.live.has(id)) {
    return refuse("unknown_session", `no session ${id} is registered; send register first`);
  }
  signOfLife(services, id, request.agent ?? null);
  const actor = actorOfId(services, id, request.agent, call);
  const inboxes = mailLogs(engine, id).map(log => ({ log, key: inboxOf(log.actor(actor)) }));
  const behind = after === undefined ? { box: 0, order: 0 } : inboxPlaceOf(after, inboxes.length);
  if (behind === null) {
    const error = "message_list: after: give next of the reply before";
    return refuse("invalid_request", error, { path: "after" });
  }
  return yield* inboxPage(inboxes, request, behind);
}

/** Resolves the files of a freeze. An agent's stay within its reach. */
async function heldFiles(
  services: Services,
  id: string | undefined,
  names: readonly string[],
): Promise<readonly FileRef[] | Refusal> {
  const files = await namedFiles(services, id, names, "broadcast: hold");
  if (isRefusal(files) || id === undefined) return files;
  return (await beyondReach(services, id, files, "freeze")) ?? files;
}

/** Resolves files; relative names start from the session's directory. */
async function namedFiles(
  services: Services,
  id: string | undefined,
  names: readonly string[],
  where: "broadcast: hold" | "resume: files",
): Promise<readonly FileRef[] | Refusal> {
  await services.engine.read(() => {});
  const cwd = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.cwd;
  const relative = cwd === undefined ? names.find(name => !isAbsolute(name)) : undefined;
  if (relative !== undefined) {
    const error = `${where}: ${relative} is relative; give an absolute path`;
    return refuse("invalid_request", error, { path: where === "resume: files" ? "files" : "hold.files" });
  }
  return refs(services, cwd ?? "/", names);
}

function tooLong(bytes: number): Refusal {
  const error = `the text has ${bytes} bytes, of at most ${limits.messageBytes}; write it to a file and send its path`;
  return refuse("message_too_long", error, { bytes });
}

// context_set, context_get, context_list, context_delete.

export const contextHandlers: HandlersOf<typeof contextRequests> = {
  context_set: forward<"context_set">({
    command: (request, { by: actor, project, wallMs }, services) => {
      const { key, value, ifVersion = null, ttlMs = null } = request;
      const bytes = Buffer.byteLength(JSON.stringify(value));
      if (bytes > limits.contextValueBytes) {
        const error = `the value has ${bytes} bytes as JSON, of at most ${limits.contextValueBytes}; share a file's path instead`;
        return refuse("context_too_large", error, { key, bytes });
      }
      const set = { key, value, bytes, ...durability(services, project, request), ifVersion, ttlMs };
      return { type: "context_set", actor, project, ...set, wallMs };
    },
  }),
  context_get: (services, request, call) => call.replyLong(() => shared(services, request, call)),
  context_list: (services, request, call) =>
    call.replyLong(() => {
      const project = projectOf(services, request, call);
      return contextPage(services.engine, { ...request, project });
    }),
  context_delete: forward<"context_delete">({
    command: ({ key, ifVersion = null }, { by: actor, project }) => ({
      type: "context_delete",
      ...{ actor, project, key, ifVersion },
    }),
  }),
};

/** A write that does not say leaves the key as it is; the core looks again, in the log's order. */
function durability(
  { engine }: Services,
  project: string,
  { key, durable }: RequestOf<"context_set">,
): Pick<ContextSet, "durable" | "keeps"> {
  if (durable !== undefined) return { durable };
  const log = engine.logOf(project);
  return { durable: contextAt(log.state, project, key)?.durable === true, keeps: true };
}

/** Reads of which the log is about to have a note, by engine: many reads at once make one. */
const noting = new WeakMap<Services["engine"], Set<string>>();

/**
 * Proposes that the value was read, if that is news: once, however many reads come before the log has it. `project`: what
 * this machine calls the item's.
 */
export function noteRead(
  { engine }: Pick<Services, "engine">,
  item: ContextItem,
  project = item.project,
): void {
  const { key } = item;
  const log = engine.logOf(project);
  const pending = noting.get(engine) ?? new Set();
  const place = itemKey(project, key);
  if (pending.has(place) || !isReadNews(log.state, item, log.now)) return;
  noting.set(engine, pending.add(place));
  const isOver = () => void pending.delete(place);
  // On a full disk nothing is noted: the next read is.
  engine.submit({ type: "context_read", project, key }, { answer: isOver, failed: isOver });
}

function* shared(services: Services, request: RequestOf<"context_get">, call: Call): Steps<string | Reply> {
  const { key } = request;
  const project = projectOf(services, request, call);
  const log = services.engine.logOf(project);
  const item = contextAt(log.state, project, key, log.now);
  if (item === undefined) return contextAbsent(key);
  noteRead(services, item, project);
  const row = contextRow(item, log.now);
  yield item.bytes;
  return JSON.stringify({ ok: true, value: item.value, ...row });
}
