/** message_send, message_list, message_ack, broadcast, resume. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import type { Actor } from "../core/actor.ts";
import type { Command } from "../core/commands.ts";
import type { FileRef } from "../core/file-ref.ts";
import { inboxOf } from "../core/messages/recipients.ts";
import type { Reply } from "../core/outcome.ts";
import { refs } from "../facts/file-refs.ts";
import { type Call, isRefusal, retryOf } from "../server/call.ts";
import type { Steps } from "../server/turns.ts";
import type { Services } from "../services.ts";
import { signOfLife } from "../sessions/commands.ts";
import { noteReply } from "../trail/decisions.ts";
import { inboxPage, orderOf } from "../views/messages.ts";
import { actorOfId, callerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";
import { beyondReach } from "./reach.ts";

export const messageSend: RequestHandler<"message_send"> = (services, request, call) => {
  const { id, to = null, text } = request;
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.messageBytes) {
    call.reply(tooLong(bytes));
    return undefined;
  }
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  const actor = callerOf(services, request, call);
  return propose(services, call, actor, {
    type: "message_send",
    actor,
    project: projectOf(services, request, call),
    to,
    text,
    bytes,
    replyTo: request.replyTo ?? null,
    urgent: request.urgent ?? false,
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
};

export const messageList: RequestHandler<"message_list"> = (services, request, call) =>
  call.replyLong(() => listed(services, request, call));

function* listed(services: Services, request: RequestOf<"message_list">, call: Call): Steps<string | Reply> {
  const { state } = services.engine;
  const { id, after } = request;
  if (!state.sessions.live.has(id)) {
    return refuse("unknown_session", `no session ${id} is registered; send register first`);
  }
  signOfLife(services, id, request.agent ?? null);
  const behind = after === undefined ? 0 : orderOf(after);
  if (behind === null) {
    const error = "message_list: after: give next of the reply before";
    return refuse("invalid_request", error, { path: "after" });
  }
  return yield* inboxPage(state, inboxOf(actorOfId(services, id, request.agent, call)), request, behind);
}

export const messageAck: RequestHandler<"message_ack"> = (services, request, call) => {
  const { id, agent, message, messages = [], read } = request;
  signOfLife(services, id, agent ?? null);
  const actor = actorOfId(services, id, agent, call);
  const named = message === undefined ? [...new Set(messages)] : [message];
  return propose(services, call, actor, {
    type: "message_ack",
    actor,
    messages: named,
    ...(read === undefined ? {} : { read }),
    ...retryOf(request, call),
  });
};

export const broadcast: RequestHandler<"broadcast"> = async (services, request, call) => {
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
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  const actor = callerOf(services, request, call);
  propose(services, call, actor, {
    type: "broadcast",
    actor,
    project: projectOf(services, request, call),
    text,
    bytes,
    hold: hold === undefined ? null : { files, ttlMs: hold.ttlMs },
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
};

export const resume: RequestHandler<"resume"> = (services, request, call) => {
  const { id, hold = null } = request;
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  const actor = callerOf(services, request, call);
  const project = projectOf(services, request, call);
  return propose(services, call, actor, { type: "resume", actor, project, hold, ...retryOf(request, call) });
};

/** Resolves the files of a freeze; relative names start from the session's directory. An agent's stay within its reach. */
async function heldFiles(
  services: Services,
  id: string | undefined,
  names: readonly string[],
): Promise<readonly FileRef[] | Refusal> {
  await services.engine.read(() => {});
  const cwd = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.cwd;
  const relative = cwd === undefined ? names.find(name => !isAbsolute(name)) : undefined;
  if (relative !== undefined) {
    const error = `broadcast: hold: ${relative} is relative; give an absolute path`;
    return refuse("invalid_request", error, { path: "hold.files" });
  }
  const files = await refs(services, cwd ?? "/", names);
  if (isRefusal(files) || id === undefined) return files;
  return (await beyondReach(services, id, files, "freeze")) ?? files;
}

function tooLong(bytes: number): Refusal {
  const error = `the text has ${bytes} bytes, of at most ${limits.messageBytes}; write it to a file and send its path`;
  return refuse("message_too_long", error, { bytes });
}

/** Proposes, and writes sender and recipient to the trail, without the text. */
function propose(services: Services, call: Call, actor: Actor | null, command: Command): undefined {
  call.propose(command, reply => {
    noteReply(services, call.type, actor, reply, { rule: call.type === "resume" ? "freeze" : "message" });
    return reply;
  });
  return undefined;
}
