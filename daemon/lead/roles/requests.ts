/** role_set: a person gives an agent a role; the trail has a line of it. */

import { callerOf, projectOf } from "../../requests/caller.ts";
import type { RequestHandler } from "../../requests/handler.ts";
import { retryOf } from "../../server/call.ts";
import { noteReply } from "../../trail/decisions.ts";

export const roleSet: RequestHandler<"role_set"> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const { name, role } = request;
  const project = projectOf(services, request, call);
  const command = { type: "role_set", by, name, role, project, ...retryOf(request, call) } as const;
  call.propose(command, reply => {
    const whom = reply.ok ? String(reply["name"]) : name;
    noteReply(services, call.type, by, reply, { rule: "role", why: `${whom}: ${role ?? "none"}` });
    return reply;
  });
  return undefined;
};
