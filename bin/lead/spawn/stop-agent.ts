/** Stops a spawned agent by its client, and keeps it stopped. */
import { setTimeout as delay } from "node:timers/promises";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Client, ProcessContext } from "../../process-context.ts";
import { ProgramFailed } from "../../programs.ts";
import { ask } from "../../with-daemon.ts";
import { endClient } from "./end-client.ts";
import { handleOf, hasEnded } from "./find.ts";
import { followSpawn } from "./follow.ts";

type Around = Pick<ProcessContext, "env" | "cwd">;

/** Who stops it: a session and its agent, or nobody for a person. */
interface Actor {
  readonly id?: string;
  readonly agent?: string;
}

/**
 * Stops an agent by its client, whatever its record says, and returns its record once its session has ended. An agent whose
 * process was killed may be brought back by its client: such a one is watched, which `say` hears. Throws `ProgramFailed`, `Refused`.
 */
export async function stopped(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Actor,
  say: (words: string) => void = () => {},
): Promise<SpawnRow> {
  const update = { ...actor, spawn: row.id };
  const before = (await ask(client, "spawn_update", { ...update, stopping: true })).spawn;
  // Its starter is still at it, and ends the client as soon as that has started; one that was killed may have left a window.
  if (before.state === "starting" && handleOf(before) === null) {
    const ended = (await ask(client, "spawn_update", { ...update, state: "stopped" })).spawn;
    if (ended.backend === "tmux") await endClient(world, ended);
    return ended;
  }
  try {
    await endClient(world, before);
  } catch (error) {
    if (error instanceof ProgramFailed) await ask(client, "spawn_update", { ...update, stopping: false });
    throw error;
  }
  const ended = hasEnded(before) ? before : await endOf(client, before, actor);
  const { mayReturn, session, state } = ended;
  if (mayReturn === true) return keptStopped(world, client, ended, actor, say);
  if (!hasEnded(before)) return ended;
  // A session that never registered may still begin: it is not the agent's then.
  const end = state === "failed" && session === null ? ({ state: "stopped" } as const) : {};
  return (await ask(client, "spawn_update", { ...update, stopping: false, ...end })).spawn;
}

/** Returns the record once the session of an agent whose client was told to stop it has ended. */
async function endOf(client: Client, row: SpawnRow, actor: Actor): Promise<SpawnRow> {
  const ended = await within(limits.spawnStopMs, followSpawn(client, row, hasEnded));
  // The client said that it stopped the session, and no hook told the daemon.
  return ended ?? (await ask(client, "spawn_update", { ...actor, spawn: row.id, state: "stopped" })).spawn;
}

/**
 * Watches an agent that its client may bring back, for `limits.spawnWatchMs`. A session that begins again is stopped, unless
 * a person prompts it: then it stays, and its record is returned.
 */
async function keptStopped(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Actor,
  say: (words: string) => void,
): Promise<SpawnRow> {
  const update = { ...actor, spawn: row.id };
  const seconds = limits.spawnWatchMs / 1000;
  say(`${row.name} was killed, and its client may bring it back; watching it for ${seconds} s`);
  await ask(client, "spawn_update", { ...update, stopping: true });
  const back = await within(
    limits.spawnWatchMs,
    followSpawn(client, row, now => !hasEnded(now)),
  );
  if (back === null) {
    const end = row.state === "failed" ? ({ state: "stopped" } as const) : {};
    return (await ask(client, "spawn_update", { ...update, stopping: false, ...end })).spawn;
  }
  const decided = (now: SpawnRow) => hasEnded(now) || !now.stopping;
  const prompted = await within(limits.spawnPromptMs, followSpawn(client, back, decided));
  if (prompted !== null && !hasEnded(prompted)) return prompted;
  say(`${row.name} came back; stopping it again`);
  await endClient(world, back);
  const ended = prompted ?? (await endOf(client, back, actor));
  return ended.mayReturn === true ? keptStopped(world, client, ended, actor, say) : ended;
}

/** Returns what the promise resolves with; null if that takes longer than `ms`. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const waiting = new AbortController();
  const late = delay(ms, null, { signal: waiting.signal }).catch(() => null);
  try {
    return await Promise.race([promise, late]);
  } finally {
    waiting.abort();
  }
}
