/** The list of what features show of a session, and of an agent in it. */

import type { RoleColumn } from "./lead/roles.ts";
import type { SpawnColumn } from "./lead/spawn.ts";
import type { CameBackColumn, HealthColumn, TeammateColumn } from "./lead/team.ts";
import type { AgentColumns, SessionColumns } from "./schemas/session.ts";

/** A session as a query shows it. The columns of features that agents have too are those of its main agent. */
export interface SessionRow
  extends SessionColumns,
    HealthColumn,
    CameBackColumn,
    RoleColumn,
    TeammateColumn,
    SpawnColumn {
  readonly agents: readonly AgentRow[];
}

export interface AgentRow extends AgentColumns, HealthColumn, RoleColumn {}
