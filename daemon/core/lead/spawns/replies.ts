/** How spawned agents are named in replies, refusals and events. */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { SpawnRow } from "../../../../protocol/lead/spawn.ts";
import type { Step } from "../../outcome.ts";
import type { State } from "../../state.ts";
import type { Spawn } from "./table.ts";

/** Returns the record of this id, or a refusal. */
export function findSpawn({ spawns }: Pick<State, "spawns">, id: string): Spawn | Refusal {
  const found = spawns.all.get(id);
  if (found !== undefined) return found;
  const error = `no spawned agent has the id ${id}; kite agents --json shows the ids`;
  return refuse("unknown_spawn", error, { spawn: id });
}

export function isSpawn(found: Spawn | Refusal): found is Spawn {
  return "attempts" in found;
}

/** Returns the record as a row, with the worktree in which its session works now. */
export function spawnRow({ sessions, tasks }: Pick<State, "sessions" | "tasks">, spawn: Spawn): SpawnRow {
  const {
    n: _n,
    depth: _depth,
    stopping,
    registerUntil: _until,
    reportsEnd: _ends,
    prompt: _prompt,
    replaceUntil,
    revokedUntil: _revoked,
    watchedUntil: _watched,
    isTaskShared: _shared,
    taskEnd: _end,
    ...rest
  } = spawn;
  const session = spawn.session === null ? undefined : sessions.live.get(spawn.session);
  const worksIn = session === undefined || session.worktree === spawn.worktree ? null : session.worktree;
  const task = spawn.task === null ? undefined : tasks.all.get(spawn.task);
  const result = task?.state.status === "done" ? task.state.result : spawn.result;
  return { ...rest, result, worksIn, replacing: replaceUntil !== null, stopping };
}

/** Emits the event of a record that is new or changed its state. */
export function announceSpawn(step: Step, { id, name, project, state, session, parent }: Spawn): void {
  const about = [session, parent?.id ?? null].filter(one => one !== null);
  const event = { event: "spawn_changed", spawn: id, name, project, state, session } as const;
  step.events.push({ event, about: [...new Set(about)], project });
}
