/**
 * Ends claims: released, finished, or with the claimer's session.
 *
 * Invariants: a claim ends with its session; the task then becomes pending or, after `limits.taskAttemptsMax` attempts,
 * failed.
 */

import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { speakerRow } from "../locks/replies.ts";
import type { Step } from "../outcome.ts";
import { assigneeOf, tell, tellReady } from "./replies.ts";
import { claimerOf, revise, setState, type Task, type TaskState, taskOf } from "./table.ts";

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
export interface Leaving {
  readonly by: Actor | null;
  readonly wallMs: number;
  readonly attempts: number;
}

/** Returns the task to pending. */
export function giveBack(state: BaseState, task: Task, cause: string, left: Leaving, step: Step): void {
  const before = assigneeOf(state, task);
  const ready = setState(state.tasks, task, { status: "pending" }, left.wallMs);
  state.preimages.writable(task).attempts = left.attempts;
  tell(step, task, { event: "task_released", cause }, speakerRow(state, left.by, step), before);
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
