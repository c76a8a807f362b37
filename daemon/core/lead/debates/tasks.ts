/**
 * The debate that a task requires.
 * Invariants: it existed in the task's project when the task got it; no agent takes an open one off.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { Actor } from "../../actor.ts";
import type { State } from "../../state.ts";
import type { Task } from "../../tasks/table.ts";
import { findDebate, isDebate } from "./replies.ts";
import type { Debate } from "./table.ts";

/** Returns the task's debate while it is open, or null. A debate that is no longer kept was closed. */
export function openDebateOf(state: State, { debate }: Pick<Task, "debate">): Debate | null {
  const known = debate === undefined ? undefined : state.debates.all.get(debate);
  return known?.verdict === null ? known : null;
}

/** Returns the id of the debate that a request names for a task of `project`, or a refusal; undefined or null: none. */
export function debateNamed(
  state: State,
  project: string,
  name: string | null | undefined,
): string | undefined | Refusal {
  if (name === undefined || name === null) return undefined;
  const found = findDebate(state.debates, name, project);
  if (!isDebate(found) || found.project === project) return isDebate(found) ? found.id : found;
  const error = `${found.id} is a debate of ${found.project}, and the task is one of ${project}; name a debate of ${project}`;
  return refuse("not_in_debate", error, { debate: found.id, project: found.project });
}

/** Returns the debate that an imported task keeps, which is one of its project; undefined: none. */
export function debateKept(
  { debates }: State,
  { project, debate = "" }: Pick<Task, "project" | "debate">,
): string | undefined {
  const known = debates.all.get(debate);
  return known?.project === project ? known.id : undefined;
}

/** Returns why `by` may not give the task another debate, or none, or null: an agent keeps a debate that is open. */
export function mayReplace(
  state: State,
  task: Task,
  next: string | undefined,
  by: Actor | null,
): Refusal | null {
  const open = by === null ? null : openDebateOf(state, task);
  if (open === null || open.id === next) return null;
  const error = `${task.id} requires debate ${open.id}, which is open; close it first (a person can force that)`;
  return refuse("debate_state", error, { task: task.id, debate: open.id, status: "open" });
}
