/**
 * Gives tasks back whose work came back.
 *
 * Invariants: only tasks of the author change, and none that an active task builds on. In a log that machines share, the
 * author is a session of the node that says so, whatever became of it since, or one that its shared id names.
 */
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { BaseState } from "../base-state.ts";
import { nodeOf, ownIdOf } from "../nodes/shared-ids.ts";
import type { Step } from "../outcome.ts";
import type { Handler } from "../rules.ts";
import type { TaskReturn } from "./commands.ts";
import { giveBack, type Leaving } from "./leave.ts";
import { assigneeOf } from "./replies.ts";
import { type Task, taskOf } from "./table.ts";

/** Returns those of the tasks that would be given back; `node`: whose session the author is, if it has no shared id. */
export function returnable(
  state: BaseState,
  { tasks, author }: Pick<TaskReturn, "tasks" | "author">,
  node: string,
): Task[] {
  return tasks.flatMap(id => {
    const task = state.tasks.all.get(id);
    return task !== undefined && mayReturn(state, task, author, node) ? [task] : [];
  });
}

function mayReturn(state: BaseState, task: Task, author: string, node: string): boolean {
  const { status } = task.state;
  if (!isSessionOf(assigneeOf(state, task), author, node)) return false;
  if (status === "active") return true;
  const dependents = [...(state.tasks.dependents.get(task.id) ?? [])];
  return status === "done" && dependents.every(id => taskOf(state.tasks, id).state.status !== "active");
}

/** Whether the row is of this session, which the log of `node` or a shared one calls so. */
export function isSessionOf(row: ActorRow | null, session: string, node: string): boolean {
  if (row === null) return false;
  return row.id === session || (ownIdOf(row.id) === session && nodeOf(row.id) === node);
}

/** Gives these tasks back, one after the other, and returns their ids. */
export function returnAll(
  state: BaseState,
  asked: Pick<TaskReturn, "tasks" | "author" | "cause">,
  left: Omit<Leaving, "attempts">,
  node: string,
  step: Step,
): string[] {
  return asked.tasks.filter(id => {
    // What one gives back may be what another builds on.
    const [task] = returnable(state, { tasks: [id], author: asked.author }, node);
    if (task !== undefined) giveBack(state, task, asked.cause, { ...left, attempts: task.attempts }, step);
    return task !== undefined;
  });
}

/** A node's merge came back: in a shared log, where its author's tasks are. */
export const taskReturn: Handler<"task_return"> = (state, command, { origin }, step) => {
  const { by, wallMs } = command;
  returnAll(state, command, { by, wallMs }, origin.node, step);
  step.reply = { ok: true };
};
