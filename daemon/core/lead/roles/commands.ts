/** The log's commands for roles. */
import type { Role } from "../../../../protocol/lead/roles.ts";
import type { Actor } from "../../actor.ts";
import type { Whose } from "../../messages/notice-table.ts";
import type { RoleTaken } from "../../nodes/commands.ts";
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

/** Gives an agent of any machine a role in the log that machines share, or with null takes it back: its node does so there. */
export interface RoleSend {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  readonly whose: Whose;
  readonly role: Role | null;
  readonly project: string;
  readonly retry?: Retry;
}

/** The node gives its agent the role that it found in the shared log. */
export interface RoleTake {
  readonly whose: Whose;
  readonly role: Role | null;
  readonly sent: RoleTaken;
}

/** These commands by name. */
export interface RoleCommands {
  role_set: RoleSet;
  role_send: RoleSend;
  role_take: RoleTake;
  role_taken: RoleTaken;
}
