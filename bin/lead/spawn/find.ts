/** Finds the record of a spawned agent by what a person or an agent calls it. */
import { handleOfSession } from "../../../hooks/claude-code/spawn.ts";
import { refuse } from "../../../protocol/codes.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Client } from "../../process-context.ts";
import { Refused, rowsOf } from "../../with-daemon.ts";

export function hasEnded({ endedAt }: SpawnRow): boolean {
  return endedAt !== null;
}

/** Returns what the client calls a background agent; null if it never started. Its starter may have ended too soon to say. */
export function handleOf({ handle, session }: SpawnRow): string | null {
  return handle ?? (session === null ? null : handleOfSession(session));
}

/**
 * Returns the record that `name` means: an id; else a name, of an agent that has not ended before one that has, the latest
 * first. Agents of `project` count before all others. Null if none fits.
 */
export function spawnCalled(rows: readonly SpawnRow[], name: string, project: string): SpawnRow | null {
  const exact = rows.find(({ id }) => id === name);
  if (exact !== undefined) return exact;
  const named = rows.filter(row => row.name === name);
  const here = named.filter(row => row.project === project);
  const found = here.length > 0 ? here : named;
  return found.findLast(row => !hasEnded(row)) ?? found.at(-1) ?? null;
}

/** Returns the record that `name` means: an id, or a name in this project. Throws `Refused` with the agents there are. */
export async function neededSpawn(client: Client, name: string, project: string): Promise<SpawnRow> {
  const rows = await rowsOf(client, "spawns");
  const found = spawnCalled(rows, name, project);
  if (found !== null && (found.project === project || found.id === name)) return found;
  if (found !== null) {
    const error = `no spawned agent of this project is called ${name}; one of ${found.project} is: use its id, ${found.id}`;
    throw new Refused(refuse("unknown_spawn", error, { spawn: name }));
  }
  const some = rows
    .filter(row => row.project === project)
    .slice(-limits.recipientsNamedMax)
    .map(row => row.name);
  const here =
    some.length === 0
      ? "none was spawned in this project; kite agents lists them, kite spawn starts one"
      : `spawned here: ${some.join(", ")}`;
  throw new Refused(refuse("unknown_spawn", `no spawned agent is called ${name}; ${here}`, { spawn: name }));
}
