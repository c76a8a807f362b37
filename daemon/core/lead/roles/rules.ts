/** The rules of roles: see `core/rules.ts`. */
import type { Declaration } from "../../declarations/table.ts";
import { lasting } from "../../durability.ts";
import type { Rules } from "../../rules.ts";
import { deleteAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import { claimPoints } from "./claims.ts";
import type { RoleCommands } from "./commands.ts";
import { roleSend, roleTake, roleTaken } from "./elsewhere.ts";
import { roleSet, roleTrait, takeRole } from "./given-roles.ts";
import { leadUngiven, roleKept, roleOf } from "./role-of.ts";

export const roleRules: Rules<RoleCommands, State> = {
  commands: {
    role_set: lasting(roleSet),
    role_send: lasting(roleSend),
    role_take: lasting(roleTake),
    role_taken: lasting(roleTaken),
  },
  shared: ["role_send"],
  points: {
    declaredFields,
    agentEnds({ roles, rolesSent }, session, agent) {
      deleteAt(roles, session, agent);
      deleteAt(rolesSent, session, agent);
    },
    sessionMoves: moveRole,
    sessionEnds({ roles, rolesSent }, { id }) {
      roles.delete(id);
      rolesSent.delete(id);
    },
    traitsOf: roleTrait,
    takeTraits: takeRole,
    ...claimPoints,
  },
};

function moveRole({ roles, rolesSent }: State, from: string, to: string): void {
  const role = roles.get(from)?.get(null);
  if (role !== undefined) setAt(roles, to, null, role);
  const sent = rolesSent.get(from)?.get(null);
  if (sent !== undefined) setAt(rolesSent, to, null, sent);
}

function declaredFields(state: State, declaration: Declaration) {
  const { role } = roleOf(state, declaration);
  const warnings = [...roleKept(state, declaration), ...leadUngiven(state, declaration)];
  return { role, ...(warnings.length === 0 ? {} : { warnings }) };
}
