/** context_set, context_get, context_list, context_delete. */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { contextRequests } from "../../protocol/schemas/context.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { contextAbsent, contextAt, isReadNews } from "../core/messages/context.ts";
import type { ContextItem } from "../core/tables/base-state.ts";
import { itemKey } from "../core/tables/context.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { ContextSet } from "../core/tables/messages.ts";
import type { Call } from "../server/call.ts";
import type { Steps } from "../server/turns.ts";
import type { Services } from "../services.ts";
import { contextPage, contextRow } from "../views/context.ts";
import { projectOf } from "./caller.ts";
import { forward } from "./forward.ts";
import type { HandlersOf } from "./handler.ts";

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
  return { durable: contextAt(log.state, log.project(project), key)?.durable === true, keeps: true };
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
  const item = contextAt(log.state, log.project(project), key, log.now);
  if (item === undefined) return contextAbsent(key);
  noteRead(services, item, project);
  const row = log.outward(contextRow(item, log.now));
  yield item.bytes;
  return JSON.stringify({ ok: true, value: item.value, ...row });
}
