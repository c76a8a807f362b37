/** context_set, context_get, context_list, context_delete. */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import { contextAbsent, contextAt } from "../core/context.ts";
import type { Reply } from "../core/outcome.ts";
import { type Call, retryOf } from "../server/call.ts";
import type { Steps } from "../server/turns.ts";
import type { Services } from "../services.ts";
import { signOfLife } from "../sessions/commands.ts";
import { contextPage, contextRow } from "../views/context.ts";
import { callerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";

export const contextSet: RequestHandler<"context_set"> = (services, request, call) => {
  const { id, key, value } = request;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > limits.contextValueBytes) {
    const error = `the value has ${bytes} bytes as JSON, of at most ${limits.contextValueBytes}; share a file's path instead`;
    call.reply(refuse("context_too_large", error, { key, bytes }));
    return undefined;
  }
  if (id !== undefined) signOfLife(services, id, request.agent ?? null);
  call.propose({
    type: "context_set",
    actor: callerOf(services, request, call),
    project: projectOf(services, request, call),
    key,
    value,
    bytes,
    durable: request.durable ?? false,
    ifVersion: request.ifVersion ?? null,
    ttlMs: request.ttlMs ?? null,
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
  return undefined;
};

export const contextGet: RequestHandler<"context_get"> = (services, request, call) =>
  call.replyLong(() => shared(services, request, call));

function* shared(services: Services, request: RequestOf<"context_get">, call: Call): Steps<string | Reply> {
  const { state, now } = services.engine;
  const { key } = request;
  const item = contextAt(state, projectOf(services, request, call), key, now);
  if (item === undefined) return contextAbsent(key);
  yield item.bytes;
  return JSON.stringify({ ok: true, value: item.value, ...contextRow(item, now) });
}

export const contextList: RequestHandler<"context_list"> = (services, request, call) =>
  call.replyLong(() => {
    const project = projectOf(services, request, call);
    return contextPage(services.engine, { ...request, project });
  });

export const contextDelete: RequestHandler<"context_delete"> = (services, request, call) => {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  call.propose({
    type: "context_delete",
    actor: callerOf(services, request, call),
    project: projectOf(services, request, call),
    key: request.key,
    ifVersion: request.ifVersion ?? null,
    ...retryOf(request, call),
  });
  return undefined;
};
