/** The list of the features' handlers: one for each request. */
import type { RequestOf, Requests, RequestType } from "../../protocol/schemas/requests.ts";
import { type LeadingServices, leadHandlers } from "../leading.ts";
import { rescueHandlers } from "../rescue/restores.ts";
import type { RescueServices } from "../rescue/services.ts";
import type { Call } from "../server/call.ts";
import { type StoreServices, storeHandlers } from "../store/requests.ts";
import { noteReply } from "../trail/decisions.ts";
import { declare } from "./declarations.ts";
import type { DaemonServices, HandlersOf } from "./handler.ts";
import { hook } from "./hook.ts";
import { lockHandlers } from "./locks.ts";
import { contextHandlers, messageHandlers } from "./messages.ts";
import { personal, personRefusal } from "./person.ts";
import { daemonHandlers, overview } from "./query.ts";
import { sessionHandlers } from "./sessions.ts";
import { staleRead, unknownRefusal } from "./stale.ts";
import { taskHandlers } from "./tasks.ts";

/** The services of all handlers together. */
export type HandlerServices = DaemonServices & LeadingServices & RescueServices & StoreServices;

const handlers: HandlersOf<Requests, HandlerServices> = {
  ...sessionHandlers,
  ...lockHandlers,
  ...taskHandlers,
  ...contextHandlers,
  ...messageHandlers,
  ...daemonHandlers,
  ...rescueHandlers,
  ...storeHandlers,
  overview,
  declare,
  hook,
  ...leadHandlers,
};

/** Answers a request, now or later; see `RequestHandler`. */
export function run<T extends RequestType>(
  services: HandlerServices,
  type: T,
  request: RequestOf<T>,
  call: Call,
): Promise<void> | undefined {
  const refusal = personal.has(type) ? personRefusal(services, type, request, call) : null;
  if (refusal !== null) {
    noteReply(services, type, null, refusal, { rule: "person", name: "no person" });
    call.reply(refusal);
    return undefined;
  }
  if (services.engine.logs.length > 1) {
    const stale = staleRead(services, { type, request, call });
    const unknown = unknownRefusal(type, stale);
    if (unknown !== null) {
      call.reply(unknown);
      return undefined;
    }
    call.stale = stale;
  }
  return handlers[type](services, request, call);
}
