/** The invariants of spawned agents; part of `check`. */
import type { Limits } from "../../../../protocol/limits.ts";
import type { State } from "../../state.ts";
import { type Spawn, spawnNameKey, spawnRecords } from "./table.ts";
import { isFinal } from "./transitions.ts";

/** Yields one sentence per broken invariant. */
export function* checkSpawns({ spawns, sessions, limits }: State): Generator<string> {
  let last = 0;
  const [names, tasks, owners] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const spawn of spawns.all.values()) {
    const { id, n, project, name, task, session } = spawn;
    if (n <= last || n > spawns.count) yield `${id} has number ${n} behind ${last}`;
    last = n;
    yield* checkState(spawn, session !== null && sessions.live.has(session), limits);
    if (session !== null && owners.has(session)) yield `session ${session} is two spawned agents`;
    if (session !== null) owners.add(session);
    if (isFinal(spawn.state)) continue;
    const key = spawnNameKey(project, name);
    if (names.has(key)) yield `two spawned agents of ${project} are called ${name}`;
    names.add(key);
    if (task !== null && tasks.has(task)) yield `${task} is for two spawned agents`;
    if (task !== null) tasks.add(task);
  }
  yield* spawnRecords.check(spawns, "spawned agents", limits.spawnsMax);
}

function* checkState(spawn: Spawn, hasLiveSession: boolean, limits: Limits): Generator<string> {
  const { id, state, session, attempts, registerUntil, endedAt } = spawn;
  const isStarting = state === "starting";
  if (isFinal(state) !== (endedAt !== null)) yield `${id} is ${state} and ended at ${endedAt}`;
  if (isStarting !== (registerUntil !== null)) yield `${id} is ${state} and registers until ${registerUntil}`;
  if (isStarting && (session !== null || attempts > 0)) yield `${id} is starting and has registered`;
  if (!isStarting && !isFinal(state) && !hasLiveSession) yield `${id} is ${state}, and its session has ended`;
  if (!isFinal(state) && spawn.watchedUntil !== undefined && !spawn.stopping)
    yield `${id} is watched, and is not to be stopped`;
  if (!isFinal(state) && spawn.mayReturn) yield `${id} is ${state}, and may return`;
  if (spawn.resumes > limits.spawnResumesMax) yield `${id} was resumed ${spawn.resumes} times`;
  if (spawn.replacements > limits.spawnReplacementsMax)
    yield `${id} is the replacement ${spawn.replacements}`;
  if (spawn.replacedBy !== null && spawn.replaceUntil !== null) yield `${id} was replaced and is to be`;
}
