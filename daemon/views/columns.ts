/** The list of the columns that leading features add to the rows of sessions, and of agents in them. */

import type { AgentColumns, SessionColumns } from "../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { Session } from "../core/tables/base-state.ts";
import { cameBackColumn, healthColumn, roleColumn, spawnColumn, teammateColumn } from "../lead/columns.ts";
import type { RowSource } from "./paging.ts";

type Columns = Omit<SessionRow & AgentRow, keyof (SessionColumns & AgentColumns) | "agents">;

/** A feature's column of the row of a session's agent, or with null of its main agent. */
type Column = (source: RowSource, session: Session, agent: string | null) => Columns;

const columns: readonly Column[] = [healthColumn, cameBackColumn, roleColumn, teammateColumn, spawnColumn];

/** Returns the columns of all of them. */
export function columnsOf(source: RowSource, session: Session, agent: string | null): Columns {
  const all = {};
  for (const column of columns) Object.assign(all, column(source, session, agent));
  return all;
}
