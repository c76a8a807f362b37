/** The place in a team of a client, as a column of a session's row. */
import type { TeammateColumn } from "../../../protocol/lead/team.ts";
import type { Session } from "../../core/tables/base-state.ts";
import type { RowSource } from "../../views/row.ts";

export function teammateColumn(
  { engine: { state } }: RowSource,
  { id }: Session,
  agent: string | null,
): TeammateColumn {
  const own = agent === null ? state.teammates.get(id)?.get(null) : undefined;
  return own === undefined ? {} : { teammate: { name: own.name, team: own.team, lead: own.lead ?? null } };
}
