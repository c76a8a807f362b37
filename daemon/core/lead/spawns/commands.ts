/** The log's commands for spawned agents. */
import type { SpawnBackend } from "../../../../protocol/lead/spawn.ts";
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";

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
  /** The task is in a log that machines share, which was asked: `task` is its whole id. */
  readonly isTaskShared?: true;
  readonly backend: SpawnBackend;
  readonly client: string;
  readonly base: string | null;
  /** What it is told to do, bounded, and its client's model. */
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

/** What the agent's session does has changed. */
export interface SpawnMoved {
  readonly spawn: string;
  readonly state: "running" | "waits_on_person" | "idle";
  /** A person prompted it, so it is not to be stopped for having come back. */
  readonly prompted?: true;
  readonly wallMs: number;
}

/** What the log that machines share says of an agent's task. */
export interface SharedTaskEnd {
  readonly status: "done" | "failed" | "removed";
  /** Its result, or why it failed. */
  readonly text: string | null;
}

/** The task of an agent ended in a log that machines share, or is open there again (`end` is null). */
export interface SpawnTask {
  readonly spawn: string;
  readonly end: SharedTaskEnd | null;
  readonly wallMs: number;
}

/** Forgets records, all of them or none. */
export interface SpawnRemove {
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
