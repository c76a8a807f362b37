/**
 * The risk of a task: when it may run, and who may change it.
 *
 * Invariants: of the red and critical tasks of a project at most one is active; a critical task runs only with a person's
 * yes, a red one also with what stands in for that as it begins; a yes is for one run. Any actor raises a risk; a person
 * lowers it, or up to red whom a point lets.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { isGrave, type Risk, risks } from "../../../protocol/names.ts";
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { ruleAt, type Taking } from "../points.ts";
import { claimerOf, listOf, type ReadyClass, type Task, taskAt } from "./table.ts";

type Rated = Pick<Task, "id" | "project" | "risk" | "approved" | "state">;

export function riskOf({ risk = "green" }: Pick<Task, "risk">): Risk {
  return risk;
}

/** Returns why the task cannot run now, whoever asks, in a sentence with what to do; null: nothing is in its way. */
export function heldBy(state: BaseState, task: Rated, by: Actor | null = null): string | null {
  const risk = riskOf(task);
  if (!isGrave(risk)) return null;
  const running = graveRunning(state, task);
  if (running !== null)
    return `${running.id} (${riskOf(running)}) runs, and red and critical tasks run one at a time; wait until it has ended`;
  if (task.approved === true) return null;
  const missing = risk === "red" ? missingForRed(state, task.project, by) : undefined;
  const ask = `ask your user: kite task approve ${task.id}`;
  if (missing === undefined) return `it waits for a person's yes; ${ask}`;
  return missing === null ? null : `${missing}, or ${ask}`;
}

/** Returns what is missing that could stand in for a person's yes to a red task; null: nothing; undefined: nothing could. */
function missingForRed(state: BaseState, project: string, by: Actor | null): string | null | undefined {
  return ruleAt(state.points, "missingForRed")?.(state, project, by);
}

/** Returns the red or critical task of the project that runs, other than this one; or null. */
function graveRunning(state: BaseState, { id, project }: Pick<Task, "id" | "project">): Task | null {
  for (const place of listOf(state.tasks, "grave", project)) {
    const task = taskAt(state.tasks, place);
    if (task.id !== id) return task;
  }
  return null;
}

/** Returns why the actor may not run the task, or null. A person (`by` null) may, but not beside another grave one. */
export function mayRun(state: BaseState, task: Rated, by: Actor | null): Refusal | null {
  if (by === null) return graveRunning(state, task) === null ? null : heldRefusal(state, task, null);
  return ruleAt(state.points, "mayTake")?.(state, task, by) ?? heldRefusal(state, task, by);
}

/** Refuses a run of the task by `runs` that its risk does not allow now, whoever asks for it. */
export function heldRefusal(state: BaseState, task: Rated, runs: Actor | null, more = ""): Refusal | null {
  const held = heldBy(state, task, runs);
  if (held === null) return null;
  const risk = riskOf(task);
  const running = graveRunning(state, task)?.id ?? null;
  return refuse("risk_held", `${task.id} is ${risk}: ${held}${more}`, { task: task.id, risk, running });
}

/** Returns why the active task may not go on with its new risk, or null; `by` changes it. */
export function mayRaise(state: BaseState, after: Task, by: Actor | null): Refusal | null {
  const claimer = claimerOf(after);
  if (by === null && graveRunning(state, after) === null) return null;
  const more = `; to make it ${riskOf(after)} now, release it first, or ask the agent that works on it to`;
  const beyond =
    by === null || claimer === null ? null : ruleAt(state.points, "mayKeep")?.(state, after, claimer);
  return beyond ?? heldRefusal(state, after, claimer, more);
}

/** Returns why `by` may not change the task's risk to `next`, or null. */
export function mayRate(state: BaseState, task: Task, next: Risk | null, by: Actor | null): Refusal | null {
  const before = riskOf(task);
  if (by === null || next === null || risks.indexOf(next) >= risks.indexOf(before)) return null;
  const mayLower = before === "critical" ? undefined : ruleAt(state.points, "mayLower");
  if (mayLower !== undefined) return mayLower(state, task, next, by);
  const error = `${task.id} is ${before}, and only a person lowers that; ask your user: kite task edit ${task.id} --risk ${next}`;
  return refuse("person_only", error, { task: task.id, risk: before });
}

/** Returns which tasks the actor takes by their risk: all, if no slice says otherwise. */
function takenBy(state: BaseState, by: Actor): Taking {
  return ruleAt(state.points, "takes")?.(state, by) ?? { risks, as: "" };
}

/** Returns the classes of ready tasks that the actor may claim now. */
export function claimable(state: BaseState, project: string, by: Actor): readonly ReadyClass[] {
  const isFree = listOf(state.tasks, "grave", project).size === 0;
  return takenBy(state, by).risks.flatMap((risk): readonly ReadyClass[] => {
    if (!isGrave(risk)) return [risk];
    if (!isFree) return [];
    const approved = `${risk} approved` as const;
    return risk === "red" && missingForRed(state, project, by) === null ? [risk, approved] : [approved];
  });
}

/** Returns what ready tasks of the project the actor cannot claim: those that it does not take, and why the others wait. */
export function leftReady(
  state: BaseState,
  project: string,
  by: Actor,
): { readonly beyond: number; readonly as: string; readonly held: string | null } {
  const { risks: takes, as } = takenBy(state, by);
  const count = (risk: Risk) =>
    listOf(state.tasks, `ready ${risk}`, project).size +
    (isGrave(risk) ? listOf(state.tasks, `ready ${risk} approved`, project).size : 0);
  const beyond = risks.filter(risk => !takes.includes(risk)).reduce((sum, risk) => sum + count(risk), 0);
  for (const risk of takes) {
    if (!isGrave(risk)) continue;
    for (const name of [`ready ${risk} approved`, `ready ${risk}`] as const) {
      for (const place of listOf(state.tasks, name, project)) {
        const task = taskAt(state.tasks, place);
        return { beyond, as, held: `${task.id} is ${risk}: ${heldBy(state, task, by) ?? "it is ready"}` };
      }
    }
  }
  return { beyond, as, held: null };
}
