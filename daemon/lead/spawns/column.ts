/** The record of a spawned agent, as a column of its session's row. */
import type { SpawnColumn } from "../../../protocol/lead/spawn.ts";
import { spawnAt } from "../../core/lead/tables/spawns.ts";
import type { Session } from "../../core/tables/base-state.ts";
import type { RowSource } from "../../views/row.ts";

export function spawnColumn({ engine }: RowSource, { id }: Session, agent: string | null): SpawnColumn {
  const own = agent === null ? spawnAt(engine.state.spawns, id) : undefined;
  return own === undefined ? {} : { spawn: { id: own.id, parent: own.parent?.name ?? null } };
}
