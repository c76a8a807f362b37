/** The roles that agents were given: `given-roles.ts` alone changes them. */
import type { Role, RoleSource } from "../../../../protocol/lead/roles.ts";
import { sideRows } from "../../sessions/side-table.ts";

/** A role that an agent did not choose for itself. */
export interface GivenRole {
  readonly role: Role;
  /** `declared`: in a log that nodes share alone, whose nodes tell of it; their own logs have the declaration. */
  readonly by: Exclude<RoleSource, "default">;
}

/** By session and agent id; null is the session's main agent. */
export const roleRows = sideRows<string | null, GivenRole>("roles");
