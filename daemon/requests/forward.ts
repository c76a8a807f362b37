/** Requests that only become a command of the log: each is a row of a feature's table of handlers. */
import type { Refusal } from "../../protocol/codes.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Command, Reply } from "../core/tables/entries.ts";
import { type Call, isRefusal, retryOf } from "../server/call.ts";
import type { Services } from "../services.ts";
import { signOfLife } from "../sessions/commands.ts";
import { noteReply } from "../trail/decisions.ts";
import type { TrailLine } from "../trail/line.ts";
import { type Asking, callerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";

/** What the daemon adds to a request: who makes it, for which project, and when. */
export interface Stamp<T extends RequestType> {
  /** Null: a person. */
  readonly by: RequestOf<T> extends { readonly id: string } ? Actor : Actor | null;
  readonly project: string;
  readonly wallMs: number;
}

export interface Forwarded<T extends RequestType, S extends Services = Services> {
  /** Returns the command, to which the retry is added, or why there is none. */
  readonly command: (request: RequestOf<T>, stamp: Stamp<T>, services: S, call: Call) => Command | Refusal;
  /** Returns what the request's line in the trail says of the reply; without it the trail has no line. */
  readonly line?: (reply: Reply, request: RequestOf<T>, stamp: Stamp<T>) => Partial<TrailLine>;
  /** Returns the reply that the client gets; without it the core's. */
  readonly reply?: (reply: Reply, request: RequestOf<T>, services: S, stamp: Stamp<T>) => Reply;
}

/** Returns the handler of such a request. The request is a sign of life of the agent that makes it. */
export function forward<T extends RequestType, S extends Services = Services>({
  command,
  line,
  reply: shape,
}: Forwarded<T, S>): RequestHandler<T, S> {
  return (services, request, call) => {
    const asking: Asking & { readonly requestId?: string | undefined } = request;
    if (asking.id !== undefined) signOfLife(services, asking.id, asking.agent ?? null);
    const by = callerOf(services, asking, call);
    const project = projectOf(services, asking, call);
    const stamp = { by, project, wallMs: services.clock.wall() } as Stamp<T>;
    const made = command(request, stamp, services, call);
    if (isRefusal(made)) {
      call.reply(made);
      return undefined;
    }
    call.propose({ ...made, ...retryOf(asking, call) }, answer => {
      const reply = shape?.(answer, request, services, stamp) ?? answer;
      if (line !== undefined) noteReply(services, call.type, by, reply, line(reply, request, stamp));
      return reply;
    });
    return undefined;
  };
}
