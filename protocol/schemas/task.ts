/** The wire of tasks: requests, replies and rows. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { type Risk, risks } from "../names.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow } from "./lock.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

const taskPriorities = ["low", "normal", "high"] as const;
export type TaskPriority = (typeof taskPriorities)[number];
const taskStatuses = ["pending", "active", "done", "failed"] as const;
export type TaskStatus = (typeof taskStatuses)[number];

const prioritySchema = z.enum(taskPriorities);
const riskSchema = z.enum(risks);
const cwdSchema = pathSchema.regex(/^\//, { error: "give an absolute path" });
const statusSchema = z.enum(taskStatuses);
const textSchema = z.string().max(limits.taskTextChars);
const descriptionSchema = textSchema.regex(/\S/u, { error: "a task needs a description" });
const labelSchema = idSchema.max(limits.nameBytes);
const labelsSchema = z.array(labelSchema).max(limits.taskLabelsMax);
/**
 * A task by its whole id, or by an unambiguous prefix or last part of it. A task of the request's project also by its
 * number behind `#` (`#12`).
 */
const refSchema = idSchema;
const dependsOnSchema = z.array(refSchema).max(limits.taskDependenciesMax);
const wallSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** The actor; without `id` a person at a terminal. */
const actorShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
/** The claimer, always an actor. */
const claimerShape = { ...baseShape, id: idSchema, agent: idSchema.optional() };

const newTaskShape = {
  description: descriptionSchema,
  priority: prioritySchema.optional(),
  labels: labelsSchema.optional(),
  /** Tasks that must be done first: ids, prefixes of ids, or names of other tasks in the same request. */
  dependsOn: dependsOnSchema.optional(),
  /** The debate that the task requires: its id, or a part of it as of a task's. */
  debate: refSchema.optional(),
  /** The care that it needs; green by default. */
  risk: riskSchema.optional(),
};

const namedTaskSchema = z.object({
  ...newTaskShape,
  /** Its name for `dependsOn` of other tasks in the same request; the daemon does not keep it. */
  name: labelSchema.optional(),
});

/** Creates one task, or with `tasks` several: all or none. */
export const taskCreateSchema = z
  .object({
    ...actorShape,
    ...newTaskShape,
    description: descriptionSchema.optional(),
    tasks: z.array(namedTaskSchema).min(1).max(limits.tasksPerRequestMax).optional(),
  })
  .refine(r => (r.description === undefined) !== (r.tasks === undefined), {
    error: "give exactly one of description and tasks",
  });

/** Changes the given fields. `status` moves the task; `result` is the outcome of done, or the reason of failed. */
export const taskUpdateSchema = z.object({
  ...actorShape,
  task: refSchema,
  status: statusSchema.optional(),
  result: textSchema.optional(),
  dependsOn: dependsOnSchema.optional(),
  description: descriptionSchema.optional(),
  priority: prioritySchema.optional(),
  labels: labelsSchema.optional(),
  /** Null: none. An agent keeps a debate that is open (`debate_state`). */
  debate: refSchema.nullable().optional(),
  /** Any agent raises it; a person lowers it, or another agent that leads if it is not critical. */
  risk: riskSchema.optional(),
  /** The caller's directory, absolute: checks that a done task needs count in its worktree. Without it the session's. */
  cwd: cwdSchema.optional(),
});

/** Returns one task. */
export const taskGetSchema = z.object({ ...actorShape, task: refSchema });

/** Claims the named task, or else the first ready one with all `labels`: highest priority, then oldest. */
export const taskClaimSchema = z.object({
  ...claimerShape,
  task: refSchema.optional(),
  labels: labelsSchema.optional(),
});

/** Makes an active task pending again. */
const taskReleaseSchema = z.object({ ...actorShape, task: refSchema });

/** A person says yes to the next run of a red or critical task; an agent (`id`) is refused. */
const taskApproveSchema = z.object({ ...actorShape, task: refSchema });

/** Removes finished tasks that no unfinished task depends on: all of them or, with a refusal, none. */
const taskRemoveSchema = z.object({
  ...actorShape,
  tasks: z.array(refSchema).min(1).max(limits.tasksPerRequestMax),
});

/** An exported task. If the daemon has a task of this id already, that one stays as it is. */
const importedSchema = z.object({
  id: z.string().regex(/^t-[0-9a-z]{1,12}-[0-9a-z]{1,12}$/u, { error: "expected an id like t-mhx3k2p1-1" }),
  description: descriptionSchema,
  project: baseShape.project,
  priority: prioritySchema.nullish(),
  /** An active task becomes pending, because its claimer is not in this store. */
  status: statusSchema.nullish(),
  labels: labelsSchema.nullish(),
  dependsOn: dependsOnSchema.nullish(),
  createdAt: wallSchema.nullish(),
  updatedAt: wallSchema.nullish(),
  result: textSchema.nullish(),
  attempts: z.number().int().min(0).max(limits.taskAttemptsMax).nullish(),
  /** The id of its debate; dropped if the task's project has no such debate. */
  debate: idSchema.nullish(),
  risk: riskSchema.nullish(),
});

/** Creates exported tasks with their ids. A task that the daemon has already stays as it is. */
const taskImportSchema = z.object({
  ...actorShape,
  /** As of `task_update`: an agent imports done tasks as it may finish one. */
  cwd: cwdSchema.optional(),
  tasks: z.array(importedSchema).min(1).max(limits.tasksPerRequestMax),
});

export type NewTaskParams = z.output<typeof namedTaskSchema>;
export type ImportedTask = z.output<typeof importedSchema>;

/** The filters of `query` for tasks, beside `project`. */
export const taskFilterShape = {
  status: statusSchema.optional(),
  /** The session that works on the task, or did. */
  assignee: idSchema.optional(),
  label: labelSchema.optional(),
  /** A part of the description or of the id; case does not count. */
  text: z.string().min(1).max(limits.idBytes).optional(),
};

export interface DependencyRow {
  readonly task: string;
  /** Null: it is of another project than the task that depends on it. */
  readonly number: number | null;
  readonly status: TaskStatus;
}

/** A task. Times are wall time in milliseconds. */
export interface TaskRow {
  readonly id: string;
  /** Counts within the project, and comes once there. */
  readonly number: number;
  readonly description: string;
  readonly project: string;
  readonly priority: TaskPriority;
  readonly status: TaskStatus;
  /** The session that claims it, or did, and the agent in it; null if unclaimed. */
  readonly assignee: string | null;
  readonly assigneeAgent: string | null;
  readonly assigneeName: string | null;
  /** Of an active task: nothing is heard of its session, or of that one's machine. A person may release the task. */
  readonly assigneeLost?: true;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** The dependencies that are not done. A pending task without any is ready. */
  readonly blockedBy: readonly DependencyRow[];
  /** The name of its creator; null: a person of this machine. */
  readonly createdBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The outcome (done), or the reason (failed). */
  readonly result: string | null;
  /** Of a done task: the branch on which its session worked then, by its short name; absent if that is not known. */
  readonly branch?: string;
  /** How often it was begun and then failed, or lost its claimer's session. */
  readonly attempts: number;
  /** The id of the debate that it requires, open or closed; or null. */
  readonly debate: string | null;
  readonly risk: Risk;
  /** A person said yes to the next run of the red or critical task, or to the present one. */
  readonly approved: boolean;
  /** Why nobody can claim the ready task now, and what to do; null: an agent whose role takes it can. */
  readonly held: string | null;
}

/** A task of a client's own list, as the client's hooks report it; nobody can claim it here. */
export interface ClientTaskRow {
  readonly list: string;
  /** Its id in that list. */
  readonly task: string;
  readonly subject: string;
  /** The teammate that has it or completed it, as far as an event said; null if none did. */
  readonly owner: string | null;
  readonly state: "open" | "completed";
  /** It is open while its owner is in no turn. */
  readonly resting: boolean;
  /** Wall time in milliseconds. */
  readonly updatedAt: number;
  readonly project: string;
}

interface TaskReply {
  readonly ok: true;
  readonly task: TaskRow;
  /** What a gate found missing although it lets the task pass, one sentence each. */
  readonly warnings?: readonly string[];
}

/** `task` for one task, `tasks` for several, in the order of the request. */
interface TaskCreateReply {
  readonly ok: true;
  readonly task?: TaskRow;
  readonly tasks?: readonly CreatedTask[];
  /** As in `TaskReply`. */
  readonly warnings?: readonly string[];
}

interface CreatedTask {
  readonly id: string;
  readonly number: number;
  readonly name: string | null;
  readonly status: TaskStatus;
}

interface TaskRemoveReply {
  readonly ok: true;
  readonly removed: readonly string[];
}

export interface TaskImportReply {
  readonly ok: true;
  readonly imported: number;
  /** The ids that the daemon had already. */
  readonly skipped: readonly string[];
  /** The imported tasks whose debate their project does not have: they require none now. */
  readonly debatesDropped: readonly string[];
}

/** The events of tasks. */
export type TaskEvent =
  | ({ readonly event: "task_created" } & TaskNews)
  /** With `cause` if `by` is an agent spawned for the task, whose session began. */
  | ({ readonly event: "task_claimed"; readonly cause?: "registered" } & TaskNews)
  | ({ readonly event: "task_completed" } & TaskNews)
  /** With `cause` if the task failed because its session ended, after the last attempt. */
  | ({ readonly event: "task_failed"; readonly cause?: string } & TaskNews)
  | ({ readonly event: "task_released"; readonly cause: string } & TaskNews)
  | ({ readonly event: "task_updated" } & TaskNews)
  | ({ readonly event: "task_removed" } & TaskNews)
  | {
      /** All dependencies of these tasks are done; at most 10 are named. */
      readonly event: "task_ready";
      readonly tasks: readonly string[];
      readonly more?: number;
      readonly project: string;
    };

/** The fields of every event of one task. */
export interface TaskNews {
  readonly task: string;
  /** Counts within the project. Absent from daemons that did not say it. */
  readonly number?: number;
  /** The description's first 200 UTF-16 units. */
  readonly description: string;
  readonly project: string;
  readonly status: TaskStatus;
  /** The actor; null if the request named none. */
  readonly by: ActorRow | null;
}

export const taskRequests = {
  task_create: { params: taskCreateSchema, reply: reply<TaskCreateReply>(), traits: once },
  task_update: { params: taskUpdateSchema, reply: reply<TaskReply>(), traits: once },
  task_get: { params: taskGetSchema, reply: reply<TaskReply>(), traits: once },
  task_claim: { params: taskClaimSchema, reply: reply<TaskReply>(), traits: once },
  task_release: { params: taskReleaseSchema, reply: reply<TaskReply>(), traits: once },
  task_remove: { params: taskRemoveSchema, reply: reply<TaskRemoveReply>(), traits: once },
  task_import: { params: taskImportSchema, reply: reply<TaskImportReply>(), traits: once },
  task_approve: { params: taskApproveSchema, reply: reply<TaskReply>(), traits: once },
} as const satisfies RequestTable;
