/** The log's commands for tasks. */
import type { Risk } from "../../../protocol/names.ts";
import type { TaskPriority, TaskStatus } from "../../../protocol/schemas/task.ts";
import type { Actor } from "../actor.ts";
import type { Retry } from "../origin.ts";
import type { Task } from "./table.ts";

/** A task to create. `dependsOn`: ids, prefixes of ids, or names of other tasks in the same command. */
export interface NewTask {
  readonly name: string | null;
  readonly description: string;
  readonly priority: TaskPriority;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** A debate's id or a part of one. */
  readonly debate?: string;
  /** Absent: green. */
  readonly risk?: Risk;
}

/** Creates all of these tasks, or none. */
export interface TaskCreate {
  readonly by: Actor | null;
  readonly tasks: readonly NewTask[];
  /** Whether the request had a list of tasks; its reply then has one too. */
  readonly many: boolean;
  readonly project: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/**
 * Imports tasks of another store under their own ids; a task whose id exists already stays as it is. `debate` is an id;
 * one that is not in the task's project is dropped.
 */
export interface TaskImport {
  readonly by: Actor | null;
  readonly tasks: readonly Omit<Task, "n" | "createdBy">[];
  readonly retry?: Retry;
}

/** Changes a task; a null field stays as it is, and an absent one. `debate`: null: none. */
export interface TaskUpdate {
  readonly by: Actor | null;
  readonly task: string;
  readonly status: TaskStatus | null;
  readonly result: string | null;
  readonly dependsOn: readonly string[] | null;
  readonly description: string | null;
  readonly priority: TaskPriority | null;
  readonly labels: readonly string[] | null;
  readonly debate?: string | null;
  readonly risk?: Risk | null;
  /** Where an unregistered session would begin; the project's short names of tasks count. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Claims a task. `task: null`: the first ready task of the project, by priority and age, that has all `labels`. */
export interface TaskClaim {
  readonly actor: Actor;
  readonly task: string | null;
  readonly labels: readonly string[];
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface TaskRelease {
  readonly by: Actor | null;
  readonly task: string;
  /** A sentence, of a release of all that the claimer has; absent: `released`. */
  readonly cause?: string;
  /** The project whose short names count, as in all these commands; absent: whole ids alone. */
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface TaskRemove {
  readonly by: Actor | null;
  readonly tasks: readonly string[];
  readonly project?: string;
  readonly retry?: Retry;
}

/** A person says yes to the next run of a red or critical task. */
export interface TaskApprove {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  readonly task: string;
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Makes tasks pending that their author has or did, since its work came back. Of the outbox alone. */
export interface TaskReturn {
  readonly tasks: readonly string[];
  /** The author's session as its node calls it, or its id in the shared log. */
  readonly author: string;
  /** A sentence. */
  readonly cause: string;
  /** Null: a person. */
  readonly by: Actor | null;
  readonly wallMs: number;
}

/** These commands by name. */
export interface TaskCommands {
  task_create: TaskCreate;
  task_import: TaskImport;
  task_update: TaskUpdate;
  task_claim: TaskClaim;
  task_release: TaskRelease;
  task_remove: TaskRemove;
  task_approve: TaskApprove;
  task_return: TaskReturn;
}
