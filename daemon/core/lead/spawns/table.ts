/**
 * The records of spawned agents and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a record is a value, which a change replaces; a session belongs to at most one record; of the records that
 * have not ended a project has each name once, and each task belongs to one; there are at most `limits.spawnsMax`, of
 * which the oldest ended ones make room.
 */

import type { SpawnRow } from "../../../../protocol/lead/spawn.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import { assert } from "../../assert.ts";
import { addToSet, removeFromSet } from "../../sets.ts";
import { SortedKeys } from "../../sorted-keys.ts";
import { isFinal } from "./transitions.ts";

export interface Spawns {
  readonly limits: Limits;
  /** Records by id, in the order of their numbers. */
  readonly all: Map<string, Spawn>;
  /** The number of the last record. */
  count: number;
  /** derived: sort keys of ended records. */
  readonly ended: SortedKeys;
  /** derived: ids by session. */
  readonly bySession: Map<string, string>;
  /** derived, of records that have not ended: ids by project, and by `spawnNameKey`, and by task. */
  readonly live: Map<string, Set<string>>;
  readonly names: Map<string, string>;
  readonly byTask: Map<string, string>;
}

/** A record: its row without what follows from its session and its task, and what only the core knows. */
export interface Spawn extends Omit<SpawnRow, "worksIn" | "replacing" | "stopping" | "health" | "cameBack"> {
  /** Its number; an older record has a smaller one. */
  readonly n: number;
  /** 1: its parent was not spawned. */
  readonly depth: number;
  /** Its client reports the end of its session. */
  readonly reportsEnd: boolean;
  /** Somebody stops it: the end of its session, or of one that its client resumes now, is no failure. */
  readonly stopping: boolean;
  /** Until when it has to register (core time, ms); null: it has, or was given up. */
  readonly registerUntil: number | null;
  /** What it was told to do, bounded by `limits.spawnPromptChars`. */
  readonly prompt: string | null;
  /** Until when only who asked first may replace it (core time, ms); null: it did not stall, came back, or was replaced. */
  readonly replaceUntil: number | null;
  /**
   * Until when a session that begins is one that its client resumed for a replacement that a stop ended since (core time,
   * ms): it is to be stopped. Null: no such client runs.
   */
  readonly revokedUntil: number | null;
  /**
   * Until when a session that begins again is to be stopped, unless a person prompts it (core time, ms). Absent: nobody
   * watches whether its client brings it back.
   */
  readonly watchedUntil?: number;
}

export function noSpawns(limits: Limits): Spawns {
  const [bySession, live, names, byTask] = [new Map(), new Map(), new Map(), new Map()];
  return { limits, all: new Map(), count: 0, ended: new SortedKeys(), bySession, live, names, byTask };
}

/** Adds a record whose number is the highest. Drops the oldest ended ones that are too many. */
export function addSpawn(spawns: Spawns, spawn: Spawn): void {
  spawns.all.set(spawn.id, spawn);
  list(spawns, spawn);
  while (spawns.all.size > spawns.limits.spawnsMax && spawns.ended.first !== undefined)
    removeSpawn(spawns, spawnOf(spawns, spawns.ended.first.slice(numberDigits + 1)));
}

/** Replaces a record by what became of it. */
export function putSpawn(spawns: Spawns, next: Spawn): void {
  unlist(spawns, spawnOf(spawns, next.id));
  spawns.all.set(next.id, next);
  list(spawns, next);
}

export function removeSpawn(spawns: Spawns, spawn: Spawn): void {
  unlist(spawns, spawn);
  spawns.all.delete(spawn.id);
}

/** Makes an agent's session the id under which its process goes on. */
export function moveSpawn(spawns: Spawns, before: string, after: string): void {
  const id = spawns.bySession.get(before);
  if (id === undefined) return;
  const other = spawns.bySession.get(after);
  // An agent that ended had the other id.
  if (other !== undefined) putSpawn(spawns, { ...spawnOf(spawns, other), session: null });
  putSpawn(spawns, { ...spawnOf(spawns, id), session: after });
}

export function spawnOf(spawns: Spawns, id: string): Spawn {
  const spawn = spawns.all.get(id);
  assert(spawn !== undefined, () => `no spawned agent ${id}`);
  return spawn;
}

/** Returns the record of a session's agent, ended or not. */
export function spawnAt(spawns: Spawns, session: string): Spawn | undefined {
  const id = spawns.bySession.get(session);
  return id === undefined ? undefined : spawns.all.get(id);
}

export function spawnNameKey(project: string, name: string): string {
  return `${project}\n${name}`;
}

function list(spawns: Spawns, spawn: Spawn): void {
  const { id, project, name, task, session, state } = spawn;
  if (session !== null) spawns.bySession.set(session, id);
  if (isFinal(state)) {
    spawns.ended.add(sortKeyOf(spawn));
    return;
  }
  addToSet(spawns.live, project, id);
  spawns.names.set(spawnNameKey(project, name), id);
  if (task !== null) spawns.byTask.set(task, id);
}

function unlist(spawns: Spawns, spawn: Spawn): void {
  const { id, project, name, task, session, state } = spawn;
  if (session !== null) spawns.bySession.delete(session);
  if (isFinal(state)) {
    spawns.ended.delete(sortKeyOf(spawn));
    return;
  }
  removeFromSet(spawns.live, project, id);
  spawns.names.delete(spawnNameKey(project, name));
  if (task !== null) spawns.byTask.delete(task);
}

const numberDigits = 8;

function sortKeyOf({ n, id }: Spawn): string {
  return `${n.toString(36).padStart(numberDigits, "0")} ${id}`;
}
