/**
 * Who may end an agent's work on a task: finish it, or give it back.
 *
 * Invariant: of an active task that an agent of a live session claimed, the claim is ended by that session, by an agent
 * that answers for the claimer, or by a person; not by another agent.
 */
import type { Refusal } from "../../../protocol/codes.ts";
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { claimedRefusal } from "./replies.ts";
import { claimerOf, type Task } from "./table.ts";

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
