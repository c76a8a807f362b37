/**
 * Ends claims: released, finished, or with the claimer's session.
 *
 * Invariants: a claim ends with its session; the task then becomes pending or, after `limits.taskAttemptsMax` attempts,
 * failed.
 */

import type { Refusal } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../frame/actors.ts";
import type { BaseState, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { speakerRow } from "../tables/naming.ts";
import {
  claimerOf,
  revise,
  setState,
  type Task,
  type TaskReturn,
  type TaskState,
  taskOf,
} from "../tables/tasks.ts";
import { assigneeOf, claimedRefusal, tell, tellReady } from "./replies.ts";

/** Ends the claims of a session, or of one of its incarnations. */
export function endClaims(
  state: BaseState,
  session: string,
  incarnation: number | null,
  cause: string,
  step: Step,
): void {
  for (const task of claimsOf(state, session)) {
    if (incarnation !== null && claimerOf(task)?.incarnation !== incarnation) continue;
    const attempts = task.attempts + 1;
    const left = { by: claimerOf(task), wallMs: Math.max(task.updatedAt, state.t), attempts };
    if (attempts < limits.taskAttemptsMax) {
      giveBack(state, task, cause, left, step);
      continue;
    }
    const by = assigneeOf(state, task);
    const reason = `${attempts} attempts failed, the last one as its session ended (${cause})`;
    finish(state, task, { status: "failed", reason, by }, left);
    tell(step, task, { event: "task_failed", cause }, by, by);
  }
}

/** Moves a session's claims to the actor under which its process goes on. */
export function passClaims(state: BaseState, from: string, to: Actor): void {
  for (const task of claimsOf(state, from)) {
    revise(state.tasks, task, writable => {
      writable.state = { status: "active", claimer: to };
    });
  }
}

/** Returns the session's claimed tasks, oldest first. */
export function claimsOf(state: BaseState, session: string): Task[] {
  const ids = [...(state.tasks.claims.get(session) ?? [])];
  return ids.map(id => taskOf(state.tasks, id)).sort((a, b) => a.n - b.n);
}

/** By which actor and when a claim ends, and the attempts to record. */
interface Leaving {
  readonly by: Actor | null;
  readonly wallMs: number;
  readonly attempts: number;
}

/** Returns the task to pending. */
export function giveBack(state: BaseState, task: Task, cause: string, left: Leaving, step: Step): void {
  const before = assigneeOf(state, task);
  const ready = setState(state.tasks, task, { status: "pending" }, left.wallMs);
  state.preimages.writable(task).attempts = left.attempts;
  tell(step, task, { event: "task_released", cause }, speakerRow(state, left.by), before);
  tellReady(step, ready);
}

/** Finishes the task as done or failed, and returns the tasks that this made ready. */
export function finish(
  state: BaseState,
  task: Task,
  ended: TaskState & { readonly status: "done" | "failed" },
  left: Pick<Leaving, "wallMs" | "attempts">,
): Task[] {
  const ready = setState(state.tasks, task, ended, left.wallMs);
  state.preimages.writable(task).attempts = left.attempts;
  return ready;
}

// Gives tasks back whose work came back.
//
// Invariant: only tasks of the author change, and none that an active task builds on.

/** Returns those of the tasks that would be given back. */
export function returnable(
  state: BaseState,
  { tasks, author }: Pick<TaskReturn, "tasks" | "author">,
): Task[] {
  return tasks.flatMap(id => {
    const task = state.tasks.all.get(id);
    return task !== undefined && mayReturn(state, task, author) ? [task] : [];
  });
}

function mayReturn(state: BaseState, task: Task, author: string): boolean {
  const { status } = task.state;
  if (assigneeOf(state, task)?.id !== author) return false;
  if (status === "active") return true;
  const dependents = [...(state.tasks.dependents.get(task.id) ?? [])];
  return status === "done" && dependents.every(id => taskOf(state.tasks, id).state.status !== "active");
}

/** Gives these tasks back, one after the other, and returns their ids. */
export function returnAll(
  state: BaseState,
  taskReturn: Pick<TaskReturn, "tasks" | "author" | "cause">,
  left: Omit<Leaving, "attempts">,
  step: Step,
): string[] {
  return taskReturn.tasks.filter(id => {
    // What one gives back may be what another builds on.
    const [task] = returnable(state, { tasks: [id], author: taskReturn.author });
    if (task !== undefined)
      giveBack(state, task, taskReturn.cause, { ...left, attempts: task.attempts }, step);
    return task !== undefined;
  });
}

/** A machine's merge came back: in a shared project, which has its author's tasks. */
export function taskReturn(
  state: BaseState,
  command: CommandOf<"task_return">,
  _meta: Meta,
  step: Step,
): void {
  const { by, wallMs } = command;
  returnAll(state, command, { by, wallMs }, step);
  step.reply = { ok: true };
}

// Who may end an agent's work on a task: finish it, or give it back.
//
// Invariant: no other agent ends an active task's claim by an agent of a live session. That session ends it, an agent that
// answers for the claimer, or a person.

/** Returns why `by` may not end the work on the task, or null. A person (`by` null) may; what nobody claimed, anybody. */
export function mayEnd(state: BaseState, task: Task, by: Actor | null): Refusal | null {
  const claimer = claimerOf(task);
  if (by === null || claimer === null || claimer.session === by.session) return null;
  if (!state.sessions.live.has(claimer.session)) return null;
  if (state.points.some(({ answersFor }) => answersFor?.(state, by, claimer))) return null;
  return claimedRefusal(
    state,
    task,
    "they end it, or their lead or a person does; ask them (kite message send)",
  );
}
