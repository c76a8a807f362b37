/** The rules of roles: see `core/slices.ts`. */
import type { Session } from "../../base-state.ts";
import type { Declaration } from "../../declarations/table.ts";
import { lasting } from "../../durability.ts";
import type { Rules } from "../../handler.ts";
import type { State } from "../../state.ts";
import { claimPoints } from "./claims.ts";
import type { RoleCommands } from "./commands.ts";
import { roleSet } from "./given.ts";
import { roleKept, roleOf } from "./standing.ts";

export const roleRules: Rules<RoleCommands, State> = {
  commands: { role_set: lasting(roleSet) },
  points: { sessionMoved: moveRole, declaredFields, ...claimPoints },
};

function moveRole({ preimages }: State, before: Session, after: Session): void {
  const role = before.roles.get(null);
  if (role !== undefined) preimages.writable(after).roles.set(null, role);
}

function declaredFields(state: State, declaration: Declaration) {
  const { role } = roleOf(state, declaration);
  const warnings = roleKept(state, declaration);
  return { role, ...(warnings.length === 0 ? {} : { warnings }) };
}
