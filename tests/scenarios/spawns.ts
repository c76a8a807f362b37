/** Spawned agents in a transcript: `spawn name=bob task=x`, `register spawn=bob`, `spawn_stop bob`, `agents`. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Words } from "./tasks.ts";

/** The command that such a line stands for, or null where it is about something else. */
export function spawnCommand(
  state: State,
  actor: Actor,
  verb: string,
  { plain, named }: Words,
): Command | null {
  const spawn = spawnNamed(state, plain[0] ?? "");
  if (verb === "spawn_forget") return { type: "spawn_remove", by: actor, spawns: [spawn] };
  if (verb === "spawn_idle") return { type: "spawn_moved", spawn, state: "idle", wallMs: 0 };
  if (verb === "spawn_stop") {
    const none = { state: null, handle: null, worktree: null, branch: null, output: null, reason: null };
    return { type: "spawn_update", by: actor, spawn, ...none, stopping: true, wallMs: 0 };
  }
  if (verb !== "spawn") return null;
  const task = named.get("task");
  const found = [...state.tasks.all.values()].find(one => one.description === task);
  return {
    type: "spawn_create",
    by: actor,
    project: "/p",
    name: named.get("name") ?? null,
    role: named.get("role") ?? null,
    task: found?.id ?? task ?? null,
    backend: "background",
    client: "claude-code",
    base: "main",
    reportsEnd: true,
    prompt: null,
    model: null,
    replaces: null,
    liveMax: 2,
    depthMax: 1,
    wallMs: 0,
  };
}

/** The id of the record that a name means: of the latest agent of that name. */
export function spawnNamed({ spawns }: State, name: string): string {
  return [...spawns.all.values()].findLast(one => one.name === name)?.id ?? name;
}

/** A line for each record. */
export function shownSpawns({ spawns, tasks }: State): string[] {
  return Array.from(spawns.all.values(), ({ name, state, task, session, attempts, result, reason }) => {
    const words = task === null ? "no task" : `for ${tasks.all.get(task)?.description ?? task}`;
    const begun = attempts === 0 ? "never began" : `began ${attempts} times, session ${session}`;
    const told = [...(result === null ? [] : [`result ${result}`]), ...(reason === null ? [] : [reason])];
    return [`${name} is ${state}`, words, begun, ...told].join(", ").replaceAll(task ?? "\n", "its task");
  });
}
