/** The roles that agents were given: `given.ts` alone changes them. */
import type { Role, RoleSource } from "../../../../protocol/lead/roles.ts";
import { sideRows } from "../../sessions/side-table.ts";

/** A role that an agent did not choose for itself. */
export interface GivenRole {
  readonly role: Role;
  readonly by: Extract<RoleSource, "person" | "spawn">;
}

/** By session and agent id; null is the session's main agent. */
export const roleRows = sideRows<string | null, GivenRole>("roles");
