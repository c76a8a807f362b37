/** message_send, message_list, message_ack, broadcast, resume. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import type { Actor } from "../core/actor.ts";
import type { Command } from "../core/commands.ts";
import { actorRow } from "../core/locks/replies.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import type { Reply } from "../core/outcome.ts";
import { refs } from "../facts/file-refs.ts";
import { type Call, isRefusal, retryOf } from "../server/call.ts";
import type { Steps } from "../server/turns.ts";
import type { Services } from "../services.ts";
import { signOfLife } from "../sessions/commands.ts";
import { inboxPage, orderOf } from "../views/messages.ts";
import { actorOfId, askerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";

export const messageSend: RequestHandler<"message_send"> = (services, request, call) => {
  const { id, to = null, text } = request;
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.messageBytes) {
    call.reply(tooLong(bytes));
    return undefined;
  }
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  const actor = askerOf(services, request, call);
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
  const files = hold === undefined ? [] : await heldFiles(services, id, hold.files);
  const refused = bytes > limits.messageBytes ? tooLong(bytes) : isRefusal(files) ? files : null;
  if (refused !== null || isRefusal(files)) {
    call.reply(refused ?? files);
    return;
  }
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  const actor = askerOf(services, request, call);
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
  const actor = askerOf(services, request, call);
  const project = projectOf(services, request, call);
  return propose(services, call, actor, { type: "resume", actor, project, hold, ...retryOf(request, call) });
};

/** The files of a hold; relative names start from the session's directory. */
async function heldFiles(services: Services, id: string | undefined, names: readonly string[]) {
  await services.engine.read(() => {});
  const cwd = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.cwd;
  const relative = cwd === undefined ? names.find(name => !isAbsolute(name)) : undefined;
  if (relative === undefined) return refs(services, cwd ?? "/", names);
  const error = `broadcast: hold: ${relative} is relative, and no session says to what; give an absolute path`;
  return refuse("invalid_request", error, { path: "hold.files" });
}

function tooLong(bytes: number): Refusal {
  const error = `the text has ${bytes} bytes, of at most ${limits.messageBytes}; write it to a file and send its path`;
  return refuse("message_too_long", error, { bytes });
}

/** Proposes, and notes in the trail who wrote to whom; without the words, which are content. */
function propose(services: Services, call: Call, actor: Actor | null, command: Command): undefined {
  call.propose(command, reply => {
    note(services, call.type, actor, reply);
    return reply;
  });
  return undefined;
}

function note({ engine, clock, recorder }: Services, type: string, actor: Actor | null, reply: Reply): void {
  const at = clock.wall();
  const id = actor?.session ?? null;
  const name = actor === null ? "a person at a terminal" : actorRow(engine.state, actor).name;
  const project = id === null ? null : (engine.state.sessions.live.get(id)?.project ?? null);
  const line = { at, event: type, id, agent: actor?.agent ?? null, name, project, type, file: null };
  if (reply.ok) recorder.note({ ...line, decision: "allow" });
  else recorder.note({ ...line, decision: "deny", code: reply.code, why: reply.error });
}
