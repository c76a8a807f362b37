/**
 * Creates, imports and removes tasks.
 *
 * Invariants: a request adds or removes all of its tasks or none; every dependency exists and closes no cycle.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { matchesOf, scopeOf } from "../frame/records.ts";
import type { BaseState, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { ruleAt } from "../tables/entries.ts";
import { isAlive, speakerRow } from "../tables/naming.ts";
import {
  charsOf,
  classOf,
  insertTasks,
  listOf,
  numberIn,
  removeTask,
  renumberedAt,
  setDependencies,
  type Task,
  type TaskCreate,
  type TaskImport,
  type TaskState,
  type Tasks,
} from "../tables/tasks.ts";
import {
  cycleRefusal,
  findAll,
  findCycle,
  findTask,
  isTask,
  numbered,
  taskRow,
  tell,
  tellReady,
  tooManyDependents,
} from "./replies.ts";

// The numbers of tasks: they count per project, so that people can say them. The last part of a new id is its number.
//
// Invariants: a project gives no number twice, not even that of a task that was removed. An id is unique among all projects.
// At most `limits.numberedProjectsMax` projects without tasks keep their number.

/** Returns an id for each of `count` new tasks of the project; `wallMs` is the time of the request. */
function newIds(tasks: Tasks, project: string, count: number, wallMs: number): string[] {
  const first = freeNumber(tasks, project, lastNumber(tasks, project));
  const { ms, top } = tasks.stamp;
  // Two projects may give one number, so an id of a used time has a higher number than all others of that time.
  const at = wallMs > ms ? wallMs : first > top ? ms : ms + 1;
  let n = first - 1;
  return Array.from({ length: count }, () => {
    n = freeNumber(tasks, project, n);
    return freeId(tasks, n, at);
  });
}

/**
 * Returns a number for each imported task, in their order: the next free one of its project. Undefined: the last part of
 * the task's id says it.
 */
function importedNumbers(
  tasks: Tasks,
  imported: readonly { readonly id: string; readonly project: string }[],
): { readonly own: readonly (number | undefined)[]; readonly last: ReadonlyMap<string, number> } {
  const last = new Map<string, number>();
  const own = imported.map(({ id, project }) => {
    const number = freeNumber(tasks, project, last.get(project) ?? lastNumber(tasks, project));
    last.set(project, number);
    return number === numberIn(id) ? undefined : number;
  });
  return { own, last };
}

/** Records the id of the project's last task. */
function countTo(tasks: Tasks, project: string, id: string): void {
  const [, ms = 0, number = 0] = id.split("-").map(part => Number.parseInt(part, 36));
  tasks.stamp = { ms, top: number };
  countNumber(tasks, project, number);
}

/** Records the number of the project's last task. */
function countNumber(tasks: Tasks, project: string, number: number): void {
  const { numbers } = tasks;
  numbers.delete(project);
  numbers.set(project, number);
  if (numbers.size <= limits.numberedProjectsMax) return;
  for (const [other, n] of numbers) {
    if (listOf(tasks, "all", other).size > 0) continue;
    numbers.delete(other);
    tasks.numbersFrom = Math.max(tasks.numbersFrom, n);
    return;
  }
}

function lastNumber({ numbers, numbersFrom }: Tasks, project: string): number {
  return numbers.get(project) ?? numbersFrom;
}

/** Returns the next number after `n` that no imported task of the project has, and that the id of none ends with. */
function freeNumber(tasks: Tasks, project: string, n: number): number {
  for (let next = n + 1; ; next += 1) {
    const isEnd = matchesOf(tasks, next.toString(36), scopeOf(project)).length > 0;
    if (!isEnd && renumberedAt(tasks, project, next) === undefined) return next;
  }
}

/** Returns the id; an imported task of another project may have that of this time. */
function freeId({ all }: Tasks, n: number, fromMs: number): string {
  for (let ms = Math.max(0, fromMs); ; ms += 1) {
    const id = `t-${ms.toString(36)}-${n.toString(36)}`;
    if (!all.has(id)) return id;
  }
}

export function taskCreate(
  state: BaseState,
  command: CommandOf<"task_create">,
  _meta: Meta,
  step: Step,
): void {
  const { tasks } = state;
  const { project, wallMs } = command;
  const refused = noRoom(
    tasks,
    command.tasks.map(t => ({ ...t, project, state: pending })),
  );
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const created = withIds(tasks, command);
  const named = resolveNames(state, project, created);
  if ("ok" in named) {
    step.reply = named;
    return;
  }
  const createdBy = speakerRow(state, command.by);
  const added = created.map(({ task: { description, priority, labels, risk }, id, n }) => ({
    id,
    n,
    project,
    createdAt: wallMs,
    createdBy,
    updatedAt: wallMs,
    description,
    priority,
    labels,
    dependsOn: named.dependencies.get(id) ?? [],
    attempts: 0,
    debate: named.debates.get(id),
    risk: risk === "green" ? undefined : risk,
    state: pending,
  }));
  tasks.created += added.length;
  insertTasks(tasks, added);
  const last = added.at(-1);
  if (last !== undefined) countTo(tasks, project, last.id);
  for (const task of added) tell(step, task, "task_created", createdBy);
  tellReady(
    step,
    added.filter(task => classOf(tasks, task) === "ready"),
  );
  const [first] = added;
  const pendingRow = ({ task, id }: NewTask) =>
    numbered(state, numberIn(id), { id, name: task.name, status: "pending" });
  step.reply =
    command.many || first === undefined
      ? { ok: true, tasks: created.map(pendingRow) }
      : { ok: true, task: taskRow(state, first) };
}

/** What new tasks name, by their ids. */
interface NamedByTasks {
  readonly dependencies: ReadonlyMap<string, readonly string[]>;
  readonly debates: ReadonlyMap<string, string>;
}

/** Finds the tasks and debates that new tasks name, each other too; or returns why one of them cannot be as it is named. */
function resolveNames(
  state: BaseState,
  project: string,
  created: readonly NewTask[],
): NamedByTasks | Refusal {
  const names = new Map<string, string>();
  for (const { task, id } of created) {
    if (task.name === null) continue;
    if (names.has(task.name)) {
      const error = `two of the tasks are named ${task.name}; give each a name of its own`;
      return refuse("invalid_request", error, { path: "tasks" });
    }
    names.set(task.name, id);
  }
  const debates = new Map<string, string>();
  const dependencies = new Map<string, readonly string[]>();
  for (const { task, id } of created) {
    const found = findAll(state, task.dependsOn, project, names);
    if ("ok" in found) return found;
    dependencies.set(id, found);
    const debate = ruleAt(state.points, "debateNamed")?.(state, project, task.debate);
    if (typeof debate === "object") return debate;
    if (debate !== undefined) debates.set(id, debate);
  }
  const crowded = tooManyDependents(state.tasks, [...dependencies.values()].flat());
  if (crowded !== null) return crowded;
  const cycle = names.size === 0 ? null : findCycle(dependencies.keys(), id => dependencies.get(id) ?? []);
  if (cycle === null) return { dependencies, debates };
  const nameOf = new Map([...names].map(([name, id]) => [id, name]));
  return cycleRefusal(cycle.map(id => nameOf.get(id) ?? id));
}

export function taskImport(
  state: BaseState,
  command: CommandOf<"task_import">,
  _meta: Meta,
  step: Step,
): void {
  const { tasks } = state;
  const skipped = command.tasks.filter(({ id }) => tasks.all.has(id)).map(({ id }) => id);
  const fresh = new Map(command.tasks.filter(({ id }) => !tasks.all.has(id)).map(t => [t.id, t]));
  const dependencies = [...fresh.values()].flatMap(task => task.dependsOn);
  const crowded = tooManyDependents(tasks, dependencies);
  const refused = noRoom(tasks, [...fresh.values()]) ?? missing(tasks, fresh) ?? crowded;
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  // Existing tasks cannot depend on new ones, so a cycle consists of new tasks alone.
  const cycle = findCycle(fresh.keys(), id => fresh.get(id)?.dependsOn ?? []);
  if (cycle !== null) {
    step.reply = cycleRefusal(cycle);
    return;
  }
  const createdBy = speakerRow(state, command.by);
  const dropped: string[] = [];
  const numbers = state.rules >= 2 ? importedNumbers(tasks, [...fresh.values()]) : null;
  const added = [...fresh.values()].map((task, i) => {
    const debate = ruleAt(state.points, "debateKept")?.(state, task);
    if (task.debate !== undefined && debate === undefined) dropped.push(task.id);
    const entered = { ...task, state: importedState(state, fresh, task) };
    return { ...entered, n: tasks.created + i + 1, number: numbers?.own[i], createdBy, debate };
  });
  tasks.created += added.length;
  insertTasks(tasks, added);
  for (const [project, last] of numbers?.last ?? []) countNumber(tasks, project, last);
  for (const task of added) tell(step, task, "task_created", createdBy);
  tellReady(
    step,
    added.filter(task => classOf(tasks, task) === "ready"),
  );
  step.reply = { ok: true, imported: added.length, skipped, debatesDropped: dropped };
}

/** Returns the state of an imported task: it stays active only if its claimer is alive and what it depends on is done. */
function importedState(
  state: BaseState,
  fresh: ReadonlyMap<string, TaskImport["tasks"][number]>,
  task: TaskImport["tasks"][number],
): TaskState {
  if (state.rules < 3 || task.state.status !== "active") return task.state;
  const isOver = (id: string) => (state.tasks.all.get(id) ?? fresh.get(id))?.state.status === "done";
  const { claimer } = task.state;
  const stays = (claimer === null || isAlive(state, claimer)) && task.dependsOn.every(isOver);
  return stays ? task.state : pending;
}

export function taskRemove(
  state: BaseState,
  command: CommandOf<"task_remove">,
  _meta: Meta,
  step: Step,
): void {
  const { tasks } = state;
  const leaving = new Map<string, Task>();
  for (const name of command.tasks) {
    const found = findTask(state, name, command.project ?? null);
    if (!isTask(found)) {
      step.reply = found;
      return;
    }
    leaving.set(found.id, found);
  }
  for (const task of leaving.values()) {
    const refused = mayLeave(tasks, task);
    if (refused !== null) {
      step.reply = refused;
      return;
    }
  }
  const by = speakerRow(state, command.by);
  for (const task of leaving.values()) {
    for (const id of [...(tasks.dependents.get(task.id) ?? [])].sort()) {
      const dependent = tasks.all.get(id);
      if (dependent !== undefined)
        setDependencies(
          tasks,
          dependent,
          dependent.dependsOn.filter(other => other !== task.id),
        );
    }
    removeTask(tasks, task);
    tell(step, task, "task_removed", by);
  }
  step.reply = { ok: true, removed: [...leaving.keys()] };
}

const pending: TaskState = { status: "pending" };

interface NewTask {
  readonly task: TaskCreate["tasks"][number];
  readonly id: string;
  /** Its place in the order of all. */
  readonly n: number;
}

function withIds(tasks: Tasks, { tasks: added, project, wallMs }: TaskCreate): NewTask[] {
  const ids = newIds(tasks, project, added.length, wallMs);
  return added.map((task, i) => ({ task, id: ids[i] ?? "", n: tasks.created + i + 1 }));
}

/** Returns why there is no room for these tasks, or null. */
export function noRoom(
  tasks: Tasks,
  added: readonly { readonly project: string; readonly description: string; readonly state: TaskState }[],
): Refusal | null {
  const tidy = "remove finished ones: kite task rm --finished";
  if (tasks.all.size + added.length > limits.tasksMax)
    return refuse("too_many_tasks", `there is room for ${limits.tasksMax} tasks; ${tidy}`);
  const counts = new Map<string, number>();
  let chars = tasks.chars;
  for (const task of added) {
    chars += charsOf(task);
    counts.set(task.project, (counts.get(task.project) ?? 0) + 1);
  }
  if (chars > limits.tasksTextChars) {
    return refuse(
      "too_many_tasks",
      `all tasks together may have ${limits.tasksTextChars} characters; ${tidy}`,
    );
  }
  for (const [project, count] of counts) {
    if (listOf(tasks, "all", project).size + count <= limits.tasksPerProjectMax) continue;
    const error = `project ${project} has room for ${limits.tasksPerProjectMax} tasks; ${tidy}`;
    return refuse("too_many_tasks", error);
  }
  return null;
}

/** Refuses an import if a dependency is neither in the store nor in the import. */
function missing(tasks: Tasks, fresh: ReadonlyMap<string, TaskImport["tasks"][number]>): Refusal | null {
  for (const { id, dependsOn } of fresh.values()) {
    const lacking = dependsOn.find(other => !tasks.all.has(other) && !fresh.has(other));
    if (lacking === undefined) continue;
    const error = `${id} depends on ${lacking}, which is neither in this store nor in the import; import it too`;
    return refuse("unknown_task", error, { task: lacking });
  }
  return null;
}

/** Returns why the task may not be removed, or null: unfinished tasks and their dependencies stay. */
function mayLeave(tasks: Tasks, task: Task): Refusal | null {
  if (task.state.status === "pending" || task.state.status === "active") {
    const error = `${task.id} is ${task.state.status}; only finished tasks can be removed (cancel it first)`;
    return refuse("task_state", error, { task: task.id });
  }
  for (const id of tasks.dependents.get(task.id) ?? []) {
    const status = tasks.all.get(id)?.state.status;
    if (status === "done" || status === "failed") continue;
    return refuse(
      "task_state",
      `${id} depends on ${task.id} and is ${status}; remove what depends on it first`,
      {
        task: task.id,
      },
    );
  }
  return null;
}
