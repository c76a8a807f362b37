/** The role of an agent, as a column of its row. */
import type { RoleColumn } from "../../../protocol/lead/roles.ts";
import { roleField } from "../../core/lead/roles.ts";
import type { Session } from "../../core/tables/base-state.ts";
import type { RowSource } from "../../views/row.ts";

export function roleColumn({ engine }: RowSource, { id }: Session, agent: string | null): RoleColumn {
  return roleField(engine.state, { session: id, agent });
}
