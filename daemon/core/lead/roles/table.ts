/** The roles that agents were given: `given-roles.ts` alone changes them. */
import type { Role, RoleSource } from "../../../../protocol/lead/roles.ts";
import { sideRows } from "../../sessions/side-table.ts";

/** A role that an agent did not choose for itself. */
export interface GivenRole {
  readonly role: Role;
  /** `declared`: in a log that nodes share alone, whose nodes tell of it; their own logs have the declaration. */
  readonly by: Exclude<RoleSource, "default">;
}

/** A role that waits in a shared log for the agent's node. Null: the one that it was given is taken back. */
export interface SentRole {
  readonly role: Role | null;
  /** The number of the entry that sent it. */
  readonly n: number;
}

export const sentRoleRows = sideRows<string | null, SentRole>("rolesSent");

/** By session and agent id; null is the session's main agent. */
export const roleRows = sideRows<string | null, GivenRole>("roles");
