/** The rules of roles: see `core/rules.ts`. */
import type { Declaration } from "../../declarations/table.ts";
import { lasting } from "../../durability.ts";
import type { Rules } from "../../rules.ts";
import { deleteAt, setAt } from "../../sessions/side-table.ts";
import type { State } from "../../state.ts";
import { claimPoints } from "./claims.ts";
import type { RoleCommands } from "./commands.ts";
import { roleSet, roleTrait, takeRole } from "./given-roles.ts";
import { leadUngiven, roleKept, roleOf } from "./role-of.ts";

export const roleRules: Rules<RoleCommands, State> = {
  commands: { role_set: lasting(roleSet) },
  points: {
    declaredFields,
    agentEnds: ({ roles }, session, agent) => deleteAt(roles, session, agent),
    sessionMoves: moveRole,
    sessionEnds: ({ roles }, { id }) => roles.delete(id),
    traitsOf: roleTrait,
    takeTraits: takeRole,
    ...claimPoints,
  },
};

function moveRole({ roles }: State, from: string, to: string): void {
  const role = roles.get(from)?.get(null);
  if (role !== undefined) setAt(roles, to, null, role);
}

function declaredFields(state: State, declaration: Declaration) {
  const { role } = roleOf(state, declaration);
  const warnings = [...roleKept(state, declaration), ...leadUngiven(state, declaration)];
  return { role, ...(warnings.length === 0 ? {} : { warnings }) };
}
