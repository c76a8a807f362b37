/**
 * The records of spawned agents and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a record is a value, which a change replaces. A session belongs to at most one record. Records that have not
 * ended share no name within a project, and no task. There are at most `limits.spawnsMax`: the oldest ended ones make room.
 */

import type { SpawnBackend, SpawnRow, SpawnState } from "../../../../protocol/lead/spawn.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { Actor, Retry } from "../../frame/actors.ts";
import { assert } from "../../frame/collections.ts";
import { placeOf, Records, sets, sorted, unique } from "../../frame/records.ts";
import { numberHead, valueList } from "../../frame/saved-rows.ts";

// The log's commands for spawned agents.

/** Records an agent that the requester is about to start. */
export interface SpawnCreate {
  /** Null: a person. */
  readonly by: Actor | null;
  /** The project that a person names; ignored if a session spawns, which has its own. */
  readonly project: string;
  /** Null: the role and a number. */
  readonly name: string | null;
  readonly role: string | null;
  /** It begins as a lead: a person's word alone. */
  readonly isLead?: true;
  /** A task's id or a part of one. */
  readonly task: string | null;
  /** The task is in a shared project, which was asked: `task` is its whole id. */
  readonly isTaskShared?: true;
  readonly backend: SpawnBackend;
  readonly client: string;
  readonly base: string | null;
  /** The agent's instructions, bounded, and its client's model. */
  readonly prompt: string | null;
  readonly model: string | null;
  /** The agent whose place it takes. */
  readonly replaces: string | null;
  /** Its client reports the end of its session: if only its process ends, it has failed. */
  readonly reportsEnd: boolean;
  /** The bounds in the user's configuration: agents of the project that have not ended, and the depth. */
  readonly liveMax: number;
  readonly depthMax: number;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Adds what became known; a null field stays as it is. */
export interface SpawnUpdate {
  readonly by: Actor | null;
  readonly spawn: string;
  readonly state: "failed" | "stopped" | null;
  readonly stopping: boolean | null;
  /** Nobody is to go on in its place. */
  readonly replacing?: false;
  readonly handle: string | null;
  readonly worktree: string | null;
  readonly branch: string | null;
  readonly output: string | null;
  readonly reason: string | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Somebody is about to resume an agent that stalled, or to put another one in its place. */
export interface SpawnReplace {
  readonly by: Actor | null;
  readonly spawn: string;
  readonly resumable: boolean;
  /** The resume before did not work. */
  readonly isFailed: boolean;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** The state of the agent's session has changed. */
interface SpawnMoved {
  readonly spawn: string;
  readonly state: "running" | "waits_on_person" | "idle";
  /** A person prompted it, so it is not to be stopped for having come back. */
  readonly prompted?: true;
  readonly wallMs: number;
}

/** What a shared project says of an agent's task. */
export interface SharedTaskEnd {
  readonly status: "done" | "failed" | "removed";
  /** Its result, or why it failed. */
  readonly text: string | null;
}

/** The task of an agent ended in a shared project, or is open there again (`end` is null). */
interface SpawnTask {
  readonly spawn: string;
  readonly end: SharedTaskEnd | null;
  readonly wallMs: number;
}

/** Forgets records, all of them or none. */
interface SpawnRemove {
  readonly by: Actor | null;
  readonly spawns: readonly string[];
  readonly retry?: Retry;
}

/** These commands by name. */
export interface SpawnCommands {
  spawn_create: SpawnCreate;
  spawn_replace: SpawnReplace;
  spawn_update: SpawnUpdate;
  spawn_moved: SpawnMoved;
  spawn_task: SpawnTask;
  spawn_remove: SpawnRemove;
}

/** The timers of spawned agents. */
export interface SpawnDues {
  spawn_over: { readonly spawn: string };
}

declare module "../../tables/entries.ts" {
  interface Commands extends SpawnCommands {}
  interface Dues extends SpawnDues {}
}

// The states of a spawned agent.
//
// Invariants: `starting` is only the first state; a final state is left only by the agent's return, which its session
// shows by beginning.

/** The states that each state may change to. */
export const transitions: Readonly<Record<SpawnState, readonly SpawnState[]>> = {
  starting: ["running", "failed", "stopped"],
  running: ["waits_on_person", "idle", "done", "failed", "stopped"],
  waits_on_person: ["running", "idle", "done", "failed", "stopped"],
  idle: ["running", "waits_on_person", "done", "failed", "stopped"],
  done: ["idle"],
  // An agent that registered late begins its first turn.
  failed: ["running", "idle"],
  stopped: ["idle"],
};

export function mayMove(from: SpawnState, to: SpawnState): boolean {
  return transitions[from].includes(to);
}

/** Whether the agent has ended, as far as is known. */
export function isFinal(state: SpawnState): boolean {
  return state === "done" || state === "failed" || state === "stopped";
}

/** A record: its row without what follows from its session and its task, and what only the core knows. */
export interface Spawn extends Omit<SpawnRow, "worksIn" | "replacing" | "stopping" | "health" | "cameBack"> {
  /** Its number; an older record has a smaller one. */
  readonly n: number;
  /** 1: its parent was not spawned. */
  readonly depth: number;
  /** Its client reports the end of its session. */
  readonly reportsEnd: boolean;
  /** Its task is in a shared project. */
  readonly isTaskShared?: true;
  /** How that task ended there, as far as this machine heard of it; absent: it did not. */
  readonly taskEnd?: SharedTaskEnd;
  /** It begins with the role of a lead; absent: it does not. */
  readonly isLead?: true;
  /** Somebody stops it: the end of its session, or of one that its client resumes now, is no failure. */
  readonly stopping: boolean;
  /** Until when it has to register (core time, ms); null: it has, or was given up. */
  readonly registerUntil: number | null;
  /** The agent's instructions, bounded by `limits.spawnPromptChars`. */
  readonly prompt: string | null;
  /** Until when only who asked first may replace it (core time, ms); null: it did not stall, came back, or was replaced. */
  readonly replaceUntil: number | null;
  /**
   * Until this core time (ms) a session that begins belongs to a client that a replacement resumed, and that a later stop
   * has to end. Null: no such client runs.
   */
  readonly revokedUntil: number | null;
  /**
   * Until when a session that begins again is to be stopped, unless a person prompts it (core time, ms). Absent: nobody
   * watches whether its client brings it back.
   */
  readonly watchedUntil?: number;
}

export const spawnRecords = new Records("all", (spawn: Spawn) => spawn.id, {
  /** Sort keys of ended records. */
  ended: sorted(spawn => (isFinal(spawn.state) ? placeOf(spawn) : null)),
  /** Ids by session. */
  bySession: unique(({ session }) => session),
  /** Of records that have not ended: ids by project, and by `spawnNameKey`, and by task. */
  live: sets(({ state, project }) => (isFinal(state) ? null : project)),
  names: unique(({ state, project, name }) => (isFinal(state) ? null : spawnNameKey(project, name))),
  byTask: unique(({ state, task }) => (isFinal(state) ? null : task)),
  /** By the task in a shared project, also of those that have ended: the latest last. */
  bySharedTask: sets(({ task, isTaskShared }) => (isTaskShared === true ? task : null)),
});

/** Records by id, in the order of their numbers. */
export interface Spawns extends ReturnType<typeof spawnRecords.empty> {
  readonly limits: Limits;
  /** The number of the last record. */
  count: number;
}

function noSpawns(limits: Limits): Spawns {
  return { ...spawnRecords.empty(), limits, count: 0 };
}

/** Adds a record whose number is the highest. Drops the oldest ended ones that are too many. */
export function addSpawn(spawns: Spawns, spawn: Spawn): void {
  spawnRecords.put(spawns, spawn);
  spawnRecords.makeRoom(spawns, spawns.limits.spawnsMax, spawns.ended);
}

/** Replaces a record by what became of it. */
export function putSpawn(spawns: Spawns, next: Spawn): void {
  spawnRecords.put(spawns, next);
}

export function removeSpawn(spawns: Spawns, spawn: Spawn): void {
  spawnRecords.drop(spawns, spawn);
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

export const spawnRows = {
  empty: noSpawns,
  head: numberHead("spawnCount", "count", true),
  lists: { spawns: valueList((spawns: Spawns) => spawns.all, addSpawn) },
};
