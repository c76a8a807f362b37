/** What features show of a session, and of an agent in it. */

import type { LeadAgentColumns, LeadSessionColumns } from "./schemas/leading.ts";
import type { AgentColumns, SessionColumns } from "./schemas/session.ts";

/** A session as a query shows it. The columns of features that agents have too are those of its main agent. */
export interface SessionRow extends SessionColumns, LeadSessionColumns {
  readonly agents: readonly AgentRow[];
}

export interface AgentRow extends AgentColumns, LeadAgentColumns {}
