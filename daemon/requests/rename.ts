/** session_rename: what a session is called; the trail has a line of it. */
import { retryOf } from "../server/call.ts";
import { noteReply } from "../trail/decisions.ts";
import { callerOf, projectOf } from "./caller.ts";
import type { RequestHandler } from "./handler.ts";

export const sessionRename: RequestHandler<"session_rename"> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const { of, name } = request;
  const project = projectOf(services, request, call);
  const command = { type: "session_rename", by, of, name, project, ...retryOf(request, call) } as const;
  call.propose(command, reply => {
    const was = reply.ok ? String(reply["was"]) : of;
    noteReply(services, call.type, by, reply, { rule: "name", why: `${was} is called ${name}` });
    return reply;
  });
  return undefined;
};
