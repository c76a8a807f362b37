/** Follows the record of a spawned agent by its events. */
import { refuse } from "../../../protocol/codes.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import type { Client } from "../../process-context.ts";
import { ask, Refused, rowsOf } from "../../with-daemon.ts";

/** Returns the record as it is now. Throws `Refused` if it was forgotten. */
async function spawnNow(
  client: Pick<Client, "request" | "daemon">,
  { id, project }: Pick<SpawnRow, "id" | "project">,
): Promise<SpawnRow> {
  const rows = await rowsOf(client, "spawns", { project });
  const found = rows.find(row => row.id === id);
  if (found !== undefined) return found;
  throw new Refused(refuse("unknown_spawn", `the record of ${id} was forgotten meanwhile`, { spawn: id }));
}

/** Returns the record as soon as `isEnough`. Each state on the way is `seen`. Subscribes the connection. */
export async function followSpawn(
  client: Client,
  spawn: Pick<SpawnRow, "id" | "project">,
  isEnough: (row: SpawnRow) => boolean,
  seen: (row: SpawnRow) => void = () => {},
): Promise<SpawnRow> {
  let wake = () => {};
  const stops = [
    client.onEvent(event => {
      // Of which agent it is, the record says when its health is read.
      if (event.event === "agent_stalled" || (event.event === "spawn_changed" && event.spawn === spawn.id))
        wake();
    }),
    client.onLagged(() => wake()),
  ];
  try {
    await ask(client, "subscribe", { events: ["spawn_changed", "agent_stalled"], project: spawn.project });
    for (;;) {
      const changed = new Promise<void>(resolve => {
        wake = resolve;
      });
      const row = await spawnNow(client, spawn);
      seen(row);
      if (isEnough(row)) return row;
      await Promise.race([changed, client.closed]);
    }
  } finally {
    for (const stop of stops) stop();
  }
}
