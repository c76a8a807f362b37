/** Spawned agents as `query` shows them, the oldest first. */
import type { SpawnRow } from "../../protocol/spawn.ts";
import { spawnRow } from "../core/spawns/replies.ts";
import { healthField, type Keyed, type RowSource } from "./sessions-and-locks.ts";

export function* spawnRows(source: RowSource): Generator<Keyed<SpawnRow>, void> {
  const { state } = source.engine;
  for (const spawn of state.spawns.all.values()) {
    const row = () => {
      const session = spawn.session === null ? undefined : state.sessions.live.get(spawn.session);
      const health = session === undefined ? {} : healthField(source, session, null);
      return { ...spawnRow(state, spawn), ...health };
    };
    yield { place: spawn.n, key: spawn.id, row };
  }
}
