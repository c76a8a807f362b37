/** role_set: a person gives an agent a role; the trail has a line of it. */
import type { roleRequests } from "../../../protocol/lead/role-set.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf } from "../../requests/handler.ts";
import { roleCommand } from "./elsewhere.ts";

export const roleHandlers: HandlersOf<typeof roleRequests> = {
  role_set: forward<"role_set">({
    command: ({ name, role }, { by, project }, { engine }) =>
      roleCommand(engine, { by, project, name, role }),
    line: (reply, { name, role }) => ({
      rule: "role",
      why: `${reply.ok ? String(reply["name"]) : name}: ${role ?? "none"}`,
    }),
  }),
};
