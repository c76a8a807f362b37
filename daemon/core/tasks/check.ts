/** The invariants of tasks; part of `check`. */
import { isGrave } from "../../../protocol/names.ts";
import type { BaseState } from "../base-state.ts";
import { Preimages } from "../preimages.ts";
import { isSame } from "../same-index.ts";
import { isAlive } from "../sessions/kinship.ts";
import { Revisions } from "../sessions/revisions.ts";
import { findCycle } from "./cycle.ts";
import { riskOf } from "./risk.ts";
import { claimerOf, insertTasks, isDone, noTasks, type Tasks } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkTasks(state: BaseState): Generator<string> {
  yield* checkRows(state);
  yield* checkTaskRisks(state);
  yield* checkTaskIndexes(state);
}

function* checkRows(state: BaseState): Generator<string> {
  const { all, created } = state.tasks;
  let last = 0;
  for (const task of all.values()) {
    if (task.n <= last || task.n > created) yield `${task.id} has number ${task.n} behind ${last}`;
    last = task.n;
    for (const id of task.dependsOn)
      if (!all.has(id)) yield `${task.id} depends on ${id}, which is not there`;
    if (task.state.status !== "active") continue;
    const open = task.dependsOn.filter(id => !isDone(state.tasks, id));
    if (open.length > 0) yield `${task.id} is active before ${open.join(", ")}`;
    const claimer = claimerOf(task);
    if (claimer !== null && !isAlive(state, claimer))
      yield `${task.id} is claimed by ${claimer.session}, which is not alive`;
  }
  const cycle = findCycle(all.keys(), id => all.get(id)?.dependsOn ?? []);
  if (cycle !== null) yield `tasks depend on each other in a cycle: ${cycle.join(", ")}`;
}

function* checkTaskIndexes({ tasks }: BaseState): Generator<string> {
  const fresh = rebuiltTasks(tasks);
  for (const name of [
    "ids",
    "ends",
    "renumbered",
    "dependents",
    "open",
    "lists",
    "claims",
    "chars",
  ] as const) {
    if (!isSame(tasks[name], fresh[name])) yield `the tasks' index ${name} is wrong`;
  }
}

function* checkTaskRisks({ tasks }: BaseState): Generator<string> {
  const running = new Map<string, string>();
  for (const task of tasks.all.values()) {
    const { id, project, approved, state } = task;
    const risk = riskOf(task);
    if (approved === true && !isGrave(risk)) yield `${id} is ${risk} and has a yes`;
    if (approved === true && (state.status === "done" || state.status === "failed"))
      yield `${id} is ${state.status} and has a yes`;
    if (!isGrave(risk) || state.status !== "active") continue;
    const other = running.get(project);
    if (other !== undefined) yield `${id} (${risk}) runs beside ${other}`;
    running.set(project, id);
    if (risk === "critical" && approved !== true) yield `${id} is critical and runs without a yes`;
  }
}

/** Returns the tasks with their derived fields rebuilt. */
function rebuiltTasks(tasks: Tasks): Tasks {
  const fresh = noTasks(new Set(), new Preimages(), new Revisions());
  fresh.created = tasks.created;
  insertTasks(fresh, [...tasks.all.values()]);
  return fresh;
}
