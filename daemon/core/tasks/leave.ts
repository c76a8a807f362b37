/**
 * How claims end: given back, over, or with the session of who had them.
 *
 * Invariants: a claim ends with its session, and the task goes back or, after `limits.taskAttemptsMax` attempts, has
 * failed.
 */

import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import type { Step } from "../outcome.ts";
import type { State } from "../state.ts";
import { assigneeOf, tell, tellReady, whoOf } from "./replies.ts";
import { claimerOf, revise, setState, type Task, type TaskState, taskOf } from "./table.ts";

/** Claims end with their session, or with a part of it. */
export function endClaims(
  state: State,
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

/** A process goes on under another session id: its tasks go on with it. */
export function passClaims(state: State, from: string, to: Actor): void {
  for (const task of claimsOf(state, from)) {
    revise(state.tasks, task, () => {
      task.state = { status: "active", claimer: to };
    });
  }
}

/** The session's tasks, oldest first. */
export function claimsOf(state: State, session: string): Task[] {
  const ids = [...(state.tasks.claims.get(session) ?? [])];
  return ids.map(id => taskOf(state.tasks, id)).sort((a, b) => a.n - b.n);
}

/** How a task is left. */
export interface Leaving {
  readonly by: Actor | null;
  readonly wallMs: number;
  readonly attempts: number;
}

/** The task is pending again. */
export function giveBack(state: State, task: Task, cause: string, left: Leaving, step: Step): void {
  const before = assigneeOf(state, task);
  const ready = setState(state.tasks, task, { status: "pending" });
  task.updatedAt = left.wallMs;
  task.attempts = left.attempts;
  tell(step, task, { event: "task_released", cause }, whoOf(state, left.by), before);
  tellReady(step, ready);
}

/** The task is over; returns what is ready now that waited for it. */
export function finish(
  state: State,
  task: Task,
  ended: TaskState & { readonly status: "done" | "failed" },
  left: Pick<Leaving, "wallMs" | "attempts">,
): Task[] {
  const ready = setState(state.tasks, task, ended);
  task.updatedAt = left.wallMs;
  task.attempts = left.attempts;
  return ready;
}
