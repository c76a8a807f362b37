import { z } from "zod";
import { limits } from "./limits.ts";
import { baseShape, idSchema } from "./session.ts";

export const taskPriorities = ["low", "normal", "high"] as const;
export type TaskPriority = (typeof taskPriorities)[number];
export const taskStatuses = ["pending", "active", "done", "failed"] as const;
export type TaskStatus = (typeof taskStatuses)[number];

const prioritySchema = z.enum(taskPriorities);
const statusSchema = z.enum(taskStatuses);
const textSchema = z.string().max(limits.taskTextChars);
const descriptionSchema = textSchema.regex(/\S/u, { error: "a task needs a description" });
const labelSchema = idSchema.max(limits.nameBytes);
const labelsSchema = z.array(labelSchema).max(limits.taskLabelsMax);
/** A task by its id, or by the beginning or the last part of it where no other has the same. */
const refSchema = idSchema;
const dependsOnSchema = z.array(refSchema).max(limits.taskDependenciesMax);
const wallSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Who asks; a person at a terminal need not say it. */
const actorShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };
/** Who claims is somebody. */
const claimerShape = { ...baseShape, id: idSchema, agent: idSchema.optional() };

const newTaskShape = {
  description: descriptionSchema,
  priority: prioritySchema.optional(),
  labels: labelsSchema.optional(),
  /** Tasks that have to be done first: ids, beginnings of ids, or names of others in the same request. */
  dependsOn: dependsOnSchema.optional(),
};

const namedTaskSchema = z.object({
  ...newTaskShape,
  /** What others in the same request call it in their `dependsOn`; forgotten afterwards. */
  name: labelSchema.optional(),
});

/** One task, or with `tasks` several at once: all or none. */
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

/** Changes what is given. A `status` moves the task; `result` goes with done (what came of it) and failed (why). */
export const taskUpdateSchema = z.object({
  ...actorShape,
  task: refSchema,
  status: statusSchema.optional(),
  result: textSchema.optional(),
  dependsOn: dependsOnSchema.optional(),
  description: descriptionSchema.optional(),
  priority: prioritySchema.optional(),
  labels: labelsSchema.optional(),
});

export const taskGetSchema = z.object({ ...actorShape, task: refSchema });

/** The named task, or without one the best that is ready: highest priority, then oldest, with all of `labels`. */
export const taskClaimSchema = z.object({
  ...claimerShape,
  task: refSchema.optional(),
  labels: labelsSchema.optional(),
});

export const taskReleaseSchema = z.object({ ...actorShape, task: refSchema });

/** Forgets finished tasks that nothing unfinished depends on: all of them or, with a refusal, none. */
export const taskRemoveSchema = z.object({
  ...actorShape,
  tasks: z.array(refSchema).min(1).max(limits.tasksPerRequestMax),
});

/** A task as it was exported. What this daemon has already, by its id, is left as it is. */
const importedSchema = z.object({
  id: z.string().regex(/^t-[0-9a-z]{1,12}-[0-9a-z]{1,12}$/u, { error: "expected an id like t-mhx3k2p1-1" }),
  description: descriptionSchema,
  project: baseShape.project,
  priority: prioritySchema.nullish(),
  /** Active ones become pending: who worked on them is not here. */
  status: statusSchema.nullish(),
  labels: labelsSchema.nullish(),
  dependsOn: dependsOnSchema.nullish(),
  createdAt: wallSchema.nullish(),
  updatedAt: wallSchema.nullish(),
  result: textSchema.nullish(),
  attempts: z.number().int().min(0).max(limits.taskAttemptsMax).nullish(),
});

export const taskImportSchema = z.object({
  ...actorShape,
  tasks: z.array(importedSchema).min(1).max(limits.tasksPerRequestMax),
});

export type NewTaskParams = z.output<typeof namedTaskSchema>;
export type ImportedTask = z.output<typeof importedSchema>;

/** What `query` may ask of tasks, beside `project`. */
export const taskFilterShape = {
  status: statusSchema.optional(),
  /** Session that works on it, or did. */
  assignee: idSchema.optional(),
  label: labelSchema.optional(),
  /** Part of the description or of the id; case does not count. */
  text: z.string().min(1).max(limits.idBytes).optional(),
};

export interface DependencyRow {
  readonly task: string;
  readonly status: TaskStatus;
}

/** A task. Times are wall time in milliseconds. */
export interface TaskRow {
  readonly id: string;
  readonly description: string;
  readonly project: string;
  readonly priority: TaskPriority;
  readonly status: TaskStatus;
  /** The session whose claim it is or was, and the agent in it; null where nobody has it. */
  readonly assignee: string | null;
  readonly assigneeAgent: string | null;
  readonly assigneeName: string | null;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** Of these, those that are not done. A pending task without any is ready. */
  readonly blockedBy: readonly DependencyRow[];
  /** Name of who created it. */
  readonly createdBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What came of it (done), or why not (failed). */
  readonly result: string | null;
  /** How often it was begun and failed, or lost its session. */
  readonly attempts: number;
}

export interface TaskReply {
  readonly ok: true;
  readonly task: TaskRow;
}

/** `task` for one, `tasks` for several, in the order of the request. */
export interface TaskCreateReply {
  readonly ok: true;
  readonly task?: TaskRow;
  readonly tasks?: readonly CreatedTask[];
}

export interface CreatedTask {
  readonly id: string;
  readonly name: string | null;
  readonly status: TaskStatus;
}

export interface TaskRemoveReply {
  readonly ok: true;
  readonly removed: readonly string[];
}

export interface TaskImportReply {
  readonly ok: true;
  readonly imported: number;
  /** Ids that were here already. */
  readonly skipped: readonly string[];
}
