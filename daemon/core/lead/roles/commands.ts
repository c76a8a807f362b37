/** The log's commands for roles. */
import type { Role } from "../../../../protocol/lead/roles.ts";
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";

/** Gives an actor a role, or with null takes it back. */
export interface RoleSet {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  /** Whom, as recipients are named, in this project. */
  readonly name: string;
  readonly role: Role | null;
  readonly project: string;
  readonly retry?: Retry;
}

/** These commands by name. */
export interface RoleCommands {
  role_set: RoleSet;
}
