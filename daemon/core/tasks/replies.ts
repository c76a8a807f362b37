/** How tasks are named in requests, replies, refusals and events. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { KiteEvent, TaskNews } from "../../../protocol/events.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import { nearest } from "../../../protocol/nearest.ts";
import type { DependencyRow, TaskRow } from "../../../protocol/task.ts";
import type { Actor } from "../actor.ts";
import { actorRow } from "../locks/replies.ts";
import type { Step } from "../outcome.ts";
import type { SortedKeys } from "../sorted-keys.ts";
import type { State } from "../state.ts";
import { isDone, resultOf, type Task, type Tasks, taskOf } from "./table.ts";

/**
 * The task that a request names, or why there is none: by its id, the beginning of it, or its last part alone, where
 * that says which.
 */
export function findTask(tasks: Tasks, name: string): Task | Refusal {
  const exact = tasks.all.get(name);
  if (exact !== undefined) return exact;
  const isEnd = !name.includes("-");
  const matches = isEnd
    ? some(tasks.ends, `${name} `).map(end => end.slice(name.length + 1))
    : some(tasks.ids, name);
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return taskOf(tasks, first);
  if (first === undefined) return unknownTask(tasks, name);
  const shown = matches.slice(0, limits.tasksNamedMax);
  const listed = shown.join(", ") + (matches.length > shown.length ? " and more" : "");
  const how = isEnd ? "end" : "begin";
  const error = `several tasks ${how} with ${name}: ${listed}; give more of the id`;
  return refuse("ambiguous_task", error, { task: name, matches: shown });
}

/** Those that begin so; enough of them to know that there are too many. */
function some(keys: SortedKeys, prefix: string): string[] {
  const found: string[] = [];
  for (const key of keys.from(prefix)) {
    if (!key.startsWith(prefix) || found.length > limits.tasksNamedMax) break;
    found.push(key);
  }
  return found;
}

/** The tasks' ids, each once; `names` of other tasks come before beginnings of ids. */
export function findAll(
  tasks: Tasks,
  wanted: readonly string[],
  names: ReadonlyMap<string, string> = new Map(),
): readonly string[] | Refusal {
  const ids = new Set<string>();
  for (const name of wanted) {
    const own = names.get(name);
    const found = own ?? findTask(tasks, name);
    if (typeof found === "string") ids.add(found);
    else if (isTask(found)) ids.add(found.id);
    else return found;
  }
  return [...ids];
}

/**
 * Why these new dependencies, of one or several tasks, are too many for what is depended on, or null: all that depend
 * on a task become ready in the step that ends it.
 */
export function tooManyDependents(tasks: Tasks, added: Iterable<string>): Refusal | null {
  const counts = new Map<string, number>();
  for (const id of added) {
    const count = (counts.get(id) ?? tasks.dependents.get(id)?.size ?? 0) + 1;
    counts.set(id, count);
    if (count <= limits.taskDependentsMax) continue;
    const error = `at most ${limits.taskDependentsMax} tasks may depend on ${id}; put one in between that depends on it`;
    return refuse("too_many_tasks", error, { task: id });
  }
  return null;
}

/** Names around where it would stand are near; the rest is too many to look at. */
function unknownTask(tasks: Tasks, name: string): Refusal {
  const around: string[] = [];
  for (let id = tasks.ids.before(name); id !== undefined && around.length < limits.tasksNamedMax; ) {
    around.push(id);
    id = tasks.ids.before(id);
  }
  for (const id of tasks.ids.from(name)) {
    if (around.length >= 2 * limits.tasksNamedMax) break;
    around.push(id);
  }
  const near = nearest(name, around);
  const hint = near === null ? "kite task list shows them" : `did you mean ${near}?`;
  return refuse("unknown_task", `no task ${name}; ${hint}`, { task: name, nearest: near });
}

export function isTask(found: Task | Refusal): found is Task {
  return "state" in found;
}

export function taskRow(state: State, task: Task): TaskRow {
  const { id, description, project, priority, labels, dependsOn, createdAt, updatedAt, attempts } = task;
  const assignee = assigneeOf(state, task);
  return {
    id,
    description,
    project,
    priority,
    status: task.state.status,
    assignee: assignee?.id ?? null,
    assigneeAgent: assignee?.agent ?? null,
    assigneeName: assignee?.name ?? null,
    labels,
    dependsOn,
    blockedBy: blockedBy(state.tasks, task),
    createdBy: task.createdBy?.name ?? null,
    createdAt,
    updatedAt,
    result: resultOf(task.state),
    attempts,
  };
}

/** Whose claim a task is, or was when it ended. */
export function assigneeOf(state: State, { state: now }: Task): ActorRow | null {
  if (now.status === "pending") return null;
  if (now.status === "active") return now.claimer === null ? null : actorRow(state, now.claimer);
  return now.by;
}

/** Dependencies that are not done. */
export function blockedBy(tasks: Tasks, task: Task): DependencyRow[] {
  if (!tasks.open.has(task.id)) return [];
  const open = task.dependsOn.filter(id => !isDone(tasks, id));
  return open.map(id => ({ task: id, status: taskOf(tasks, id).state.status }));
}

/** The refusal as published, with what to do where waiting is not enough. */
export function blockedRefusal(open: readonly DependencyRow[]): Refusal {
  const names = open.map(({ task }) => task).join(", ");
  return refuse("task_blocked", `blocked by unfinished dependencies: ${names}`, { blockedBy: open });
}

/** The task is somebody else's. */
export function claimedRefusal(state: State, task: Task, hint: string): Refusal {
  const assignee = assigneeOf(state, task);
  const error = `${assignee?.name ?? "somebody"} works on ${task.id}; ${hint}`;
  return refuse("task_claimed", error, {
    task: task.id,
    assignee: assignee?.id ?? null,
    assigneeName: assignee?.name ?? null,
  });
}

/** The task's status does not allow it. */
export function stateRefusal(state: State, task: Task, hint: string): Refusal {
  const { status } = task.state;
  const by = status === "pending" ? null : assigneeOf(state, task);
  const error = `${task.id} is ${status}${by === null ? "" : ` by ${by.name}`}; ${hint}`;
  return refuse("task_state", error, { task: task.id, status });
}

export function whoOf(state: State, by: Actor | null): ActorRow | null {
  return by === null ? null : actorRow(state, by);
}

type TaskEvent = Exclude<Extract<KiteEvent, TaskNews>["event"], "task_released">;

/** Tells of one task; it is about who created it and whose it is. */
export function tell(
  step: Step,
  task: Task,
  event: TaskEvent | { readonly event: "task_released" | "task_failed"; readonly cause: string },
  by: ActorRow | null,
  about: ActorRow | null = null,
): void {
  const { id, description, project, createdBy } = task;
  const news = {
    task: id,
    description: description.slice(0, limits.quoteChars),
    project,
    status: task.state.status,
    by,
  };
  const named = [createdBy?.id, about?.id].filter(session => session !== undefined);
  const full = typeof event === "string" ? { event, ...news } : { ...event, ...news };
  step.events.push({ event: full, about: [...new Set(named)], project });
}

/** Tells that nothing is in the way of these any more, project by project. */
export function tellReady(step: Step, ready: readonly Task[]): void {
  for (const project of new Set(ready.map(task => task.project))) {
    const ids = ready.filter(task => task.project === project).map(task => task.id);
    const tasks = ids.slice(0, limits.tasksNamedMax);
    const more = ids.length > tasks.length ? { more: ids.length - tasks.length } : {};
    step.events.push({ event: { event: "task_ready", tasks, ...more, project }, about: [], project });
  }
}
