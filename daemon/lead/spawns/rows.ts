/** Spawned agents as `query` shows them, the oldest first. */
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { firstUnread } from "../../core/lead/merges.ts";
import { spawnRow } from "../../core/lead/spawns.ts";
import type { Merge } from "../../core/lead/tables/merges.ts";
import type { Target } from "../../requests/target.ts";
import type { Keyed, RowSource } from "../../views/row.ts";
import { healthColumn } from "../health/facts.ts";
import { cameBackField } from "../merges/came-back.ts";

export function* spawnRows(source: RowSource): Generator<Keyed<SpawnRow>, void> {
  const { state } = source.engine;
  /** The latest merge that came back, by its author. */
  const returned = new Map<string, Merge>();
  for (const merge of state.merges.all.values())
    if (merge.notice !== undefined && merge.author?.agent === null) returned.set(merge.author.id, merge);
  for (const spawn of state.spawns.all.values()) {
    const row = () => {
      const session = spawn.session === null ? undefined : state.sessions.live.get(spawn.session);
      const health = session === undefined ? {} : healthColumn(source, session, null);
      const own = spawn.session ?? "";
      const merge = session === undefined ? returned.get(own) : firstUnread(state, own);
      const { tasks } = source.engine.logOf(spawn.project).state;
      return {
        ...spawnRow({ sessions: state.sessions, tasks }, spawn),
        ...health,
        ...cameBackField(source, merge),
      };
    };
    yield { place: spawn.n, key: spawn.id, row };
  }
}

const spawns: Target<SpawnRow> = {
  open: source => () => spawnRows(source),
  ids: row => [row.session, row.parent?.id],
};

export const spawnTargets = { spawns };
