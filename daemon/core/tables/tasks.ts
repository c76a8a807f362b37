/**
 * The tasks and their indexes, which keep the cost of an answer independent of the number of tasks.
 *
 * Invariants: dependencies exist and close no cycle; an active task's dependencies are done; the indexes agree with the
 * tasks. Only `insertTasks`, `removeTask`, `setState`, `setDependencies` and `revise` change a task.
 */

import { isGrave, type Risk } from "../../../protocol/names.ts";
import type { TaskCounts } from "../../../protocol/schemas/daemon.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { TaskPriority, TaskStatus } from "../../../protocol/schemas/task.ts";
import type { Actor, Retry } from "../frame/actors.ts";
import {
  addToSet,
  addToSorted,
  assert,
  removeFromSet,
  removeFromSorted,
  SortedKeys,
  type SortedSets,
} from "../frame/collections.ts";
import { endOf, idAt, matchesOf, placeOf, scopeOf } from "../frame/records.ts";
import { formList, head, type Preimages, type Writable } from "../frame/saved-rows.ts";
import type { Revisions } from "./sessions.ts";

export interface Tasks {
  readonly preimages: Preimages;
  /** Tasks by id, in the order of their numbers. */
  readonly all: Map<string, Task>;
  /** How many tasks were created: the place of the last one in the order of all. */
  created: number;
  /** The number of the last task of each project; see `tasks/create.ts`. */
  readonly numbers: Map<string, number>;
  /** The number after which the tasks of a project without a row in `numbers` begin. */
  numbersFrom: number;
  /** The time of the last id (ms), and the highest number that ids of this time have. */
  stamp: { readonly ms: number; readonly top: number };
  /** derived: the project and the id of each task. */
  readonly ids: SortedKeys;
  /** derived: for each task its project, the last part of its id, a blank, and its id. */
  readonly ends: SortedKeys;
  /** derived: the ids of the tasks with a `number` of their own, by their project and number. */
  readonly renumbered: Map<string, string>;
  /** derived: the ids of the tasks that depend on a task. */
  readonly dependents: Map<string, Set<string>>;
  /** derived: tasks with unfinished dependencies, each with how many. */
  readonly open: Map<string, number>;
  /** derived: sort keys of tasks by list; see `eachList`. */
  readonly lists: SortedSets;
  /** derived: active tasks by the session that claimed them. */
  readonly claims: Map<string, Set<string>>;
  /** `Sessions.touched`: the sessions whose claims changed. */
  readonly touched: Set<string>;
  /** `Sessions.revisions` */
  readonly revisions: Revisions;
  /** derived: the total length of all texts, in UTF-16 units. */
  chars: number;
}

export interface Task {
  readonly id: string;
  /** The task's place in the order of all; an older task has a smaller one. */
  readonly n: number;
  /** Its number in the project, if the last part of its id is another one: of an imported task. See `numberOf`. */
  readonly number?: number | undefined;
  readonly project: string;
  /** Wall time in milliseconds, as all times of tasks. */
  readonly createdAt: number;
  readonly createdBy: ActorRow | null;
  readonly updatedAt: number;
  readonly description: string;
  readonly priority: TaskPriority;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** How often the task was begun and then failed, or lost its claimer's session. */
  readonly attempts: number;
  /** The id of the debate that it requires; undefined: none. */
  readonly debate?: string | undefined;
  /** Undefined: green. */
  readonly risk?: Risk | undefined;
  /** A person said yes to the next run, or to the present one. */
  readonly approved?: true | undefined;
  readonly state: TaskState;
}

/** `by`: the actor that caused this state, with its name at the time. `branch`: where its session worked then, if known. */
export type TaskState =
  | { readonly status: "pending" }
  | { readonly status: "active"; readonly claimer: Actor | null }
  | {
      readonly status: "done";
      readonly result: string | null;
      readonly by: ActorRow | null;
      readonly branch?: string;
    }
  | { readonly status: "failed"; readonly reason: string | null; readonly by: ActorRow | null };

export function noTasks(touched: Set<string>, preimages: Preimages, revisions: Revisions): Tasks {
  return {
    preimages,
    touched,
    revisions,
    all: new Map(),
    created: 0,
    numbers: new Map(),
    numbersFrom: 0,
    stamp: { ms: 0, top: 0 },
    chars: 0,
    ids: new SortedKeys(),
    ends: new SortedKeys(),
    renumbered: new Map(),
    dependents: new Map(),
    open: new Map(),
    lists: new Map(),
    claims: new Map(),
  };
}

/** What a ready task needs to be claimed: its risk, and whether a person said yes to a red or critical one. */
export type ReadyClass = Risk | "red approved" | "critical approved";

/**
 * The names of the lists of tasks. `finished`: the done ones of a project, by their latest change. `ready CLASS`: the
 * ready ones of a class. `grave`: the active red and critical ones of a project. `watched`: the red and critical ones
 * that are active or ready.
 */
export type ListName =
  | "all"
  | TaskState["status"]
  | "ready"
  | "blocked"
  | "finished"
  | `ready ${ReadyClass}`
  | "grave"
  | "watched";

/** Returns a list of one project, or with null of all projects; `label` selects a part of a ready list. */
export function listOf(tasks: Tasks, name: ListName, project: string | null, label = ""): SortedKeys {
  return tasks.lists.get(listKey(name, project, label)) ?? nothing;
}

const nothing = new SortedKeys();

/** Returns how many tasks one project has, or with null all projects. */
export function countTasks({ lists }: Tasks, project: string | null): TaskCounts {
  const scope = listKey("", project, "");
  return {
    active: lists.get(`active${scope}`)?.size ?? 0,
    ready: lists.get(`ready${scope}`)?.size ?? 0,
    blocked: lists.get(`blocked${scope}`)?.size ?? 0,
    failed: lists.get(`failed${scope}`)?.size ?? 0,
    done: lists.get(`done${scope}`)?.size ?? 0,
  };
}

/** Returns the task of a list's sort key. */
export function taskAt(tasks: Tasks, place: string): Task {
  return taskOf(tasks, idAt(place));
}

export function taskOf(tasks: Tasks, id: string): Task {
  const task = tasks.all.get(id);
  assert(task !== undefined, () => `no task ${id}`);
  return task;
}

/** Returns the number by which people name the task in its project. */
export function numberOf({ id, number }: Pick<Task, "id" | "number">): number {
  return number ?? numberIn(id);
}

/** Returns the number that the last part of an id says. */
export function numberIn(id: string): number {
  return Number.parseInt(id.slice(id.lastIndexOf("-") + 1), 36);
}

/** Returns the id of the task that has this number of the project, although its id ends otherwise; or undefined. */
export function renumberedAt({ renumbered }: Tasks, project: string, number: number): string | undefined {
  return renumbered.get(scopeOf(project) + number);
}

/** Returns the ids of the project's tasks with this number: several only if they were imported before numbers were given. */
export function numberedAt(tasks: Tasks, project: string, number: number): string[] {
  const renumbered = renumberedAt(tasks, project, number) ?? [];
  const ends = matchesOf(tasks, number.toString(36), scopeOf(project));
  return ends.filter(id => taskOf(tasks, id).number === undefined).concat(renumbered);
}

export function isDone(tasks: Tasks, id: string): boolean {
  return tasks.all.get(id)?.state.status === "done";
}

/** Adds tasks, in the order of their numbers; they may depend on each other. */
export function insertTasks(tasks: Tasks, added: readonly Task[]): void {
  for (const task of added) tasks.all.set(task.id, task);
  for (const task of added) index(tasks, task);
}

function index(tasks: Tasks, task: Task): void {
  const scope = scopeOf(task.project);
  tasks.ids.add(scope + task.id);
  tasks.ends.add(scope + endOf(task.id));
  if (task.number !== undefined) tasks.renumbered.set(scope + task.number, task.id);
  const place = placeOf(task);
  addToSorted(tasks.lists, listKey("all", null, ""), place);
  addToSorted(tasks.lists, listKey("all", task.project, ""), place);
  tasks.chars += charsOf(task);
  for (const id of task.dependsOn) addToSet(tasks.dependents, id, task.id);
  count(tasks, task);
  addToLists(tasks, task);
}

/** Removes a task; the caller has checked that no task depends on it. */
export function removeTask(tasks: Tasks, task: Task): void {
  removeFromLists(tasks, task);
  const place = placeOf(task);
  removeFromSorted(tasks.lists, listKey("all", null, ""), place);
  removeFromSorted(tasks.lists, listKey("all", task.project, ""), place);
  for (const id of task.dependsOn) removeFromSet(tasks.dependents, id, task.id);
  tasks.open.delete(task.id);
  tasks.chars -= charsOf(task);
  const scope = scopeOf(task.project);
  tasks.ids.delete(scope + task.id);
  tasks.ends.delete(scope + endOf(task.id));
  if (task.number !== undefined) tasks.renumbered.delete(scope + task.number);
  tasks.all.delete(task.id);
}

/** Changes a task's state at `wallMs`, and returns the tasks that this made ready, in order. */
export function setState(tasks: Tasks, task: Task, next: TaskState, wallMs: number): Task[] {
  const wasDone = task.state.status === "done";
  const wasReady = classOf(tasks, task) === "ready";
  revise(tasks, task, writable => {
    writable.state = next;
    writable.updatedAt = wallMs;
    // A yes is for one run.
    if (next.status !== "active") writable.approved = undefined;
  });
  const ready = !wasReady && classOf(tasks, task) === "ready" ? [task] : [];
  if (wasDone === (next.status === "done")) return ready;
  for (const id of tasks.dependents.get(task.id) ?? []) {
    const dependent = taskOf(tasks, id);
    const wasBlocked = classOf(tasks, dependent) === "blocked";
    removeFromLists(tasks, dependent);
    count(tasks, dependent);
    addToLists(tasks, dependent);
    if (wasBlocked && classOf(tasks, dependent) === "ready") ready.push(dependent);
  }
  return ready.sort((a, b) => a.n - b.n);
}

/** Replaces a task's dependencies; the caller has checked that they exist and close no cycle. */
export function setDependencies(tasks: Tasks, task: Task, dependsOn: readonly string[]): void {
  removeFromLists(tasks, task);
  for (const id of task.dependsOn) removeFromSet(tasks.dependents, id, task.id);
  tasks.preimages.writable(task).dependsOn = dependsOn;
  for (const id of dependsOn) addToSet(tasks.dependents, id, task.id);
  count(tasks, task);
  addToLists(tasks, task);
}

/** Runs `change` on a task and updates its lists; `change` must not touch dependencies. */
export function revise(tasks: Tasks, task: Task, change: (task: Writable<Task>) => void): void {
  removeFromLists(tasks, task);
  tasks.chars -= charsOf(task);
  change(tasks.preimages.writable(task));
  tasks.chars += charsOf(task);
  addToLists(tasks, task);
}

export function charsOf(task: Pick<Task, "description" | "state">): number {
  return task.description.length + (resultOf(task.state)?.length ?? 0);
}

/** Returns a finished task's result or reason, or null. */
export function resultOf(state: TaskState): string | null {
  if (state.status === "done") return state.result;
  return state.status === "failed" ? state.reason : null;
}

export function classOf(
  tasks: Tasks,
  task: Task,
): Exclude<TaskState["status"], "pending"> | "ready" | "blocked" {
  if (task.state.status !== "pending") return task.state.status;
  return tasks.open.has(task.id) ? "blocked" : "ready";
}

/** Counts the task's unfinished dependencies. */
function count(tasks: Tasks, task: Task): void {
  let open = 0;
  for (const id of task.dependsOn) if (!isDone(tasks, id)) open += 1;
  if (open > 0) tasks.open.set(task.id, open);
  else tasks.open.delete(task.id);
}

/** What a ready list puts before the sort keys. */
const ranks: Readonly<Record<TaskPriority, string>> = { high: "0", normal: "1", low: "2" };

/** Returns the done tasks of a project that changed last, the latest first; it costs what it returns. */
export function latestFinished(tasks: Tasks, project: string, max: number): Task[] {
  const list = listOf(tasks, "finished", project);
  const found: Task[] = [];
  for (
    let place = list.before(afterAll);
    place !== undefined && found.length < max;
    place = list.before(place)
  )
    found.push(taskAt(tasks, place.slice(timeDigits)));
  return found;
}

/** Digits of a time in a sort key: enough for every safe integer. */
const timeDigits = 11;
const afterAll = "~";

/** Visits every list that the task belongs to by its status, with its sort key there. */
function eachList(tasks: Tasks, task: Task, visit: (key: string, place: string) => void): void {
  const { project } = task;
  const own = classOf(tasks, task);
  const place = placeOf(task);
  if (own === "ready" || own === "blocked") {
    visit(listKey("pending", null, ""), place);
    visit(listKey("pending", project, ""), place);
  }
  const ranked = own === "ready" ? ranks[task.priority] + place : place;
  visit(listKey(own, null, ""), ranked);
  visit(listKey(own, project, ""), ranked);
  if (own === "done") {
    const at = Math.max(0, task.updatedAt).toString(36).padStart(timeDigits, "0");
    visit(listKey("finished", project, ""), at + place);
  }
  const isWatched = isGrave(task.risk ?? "green") && (own === "active" || own === "ready");
  if (isWatched) {
    visit(listKey("watched", null, ""), place);
    visit(listKey("watched", project, ""), place);
  }
  if (isWatched && own === "active") visit(listKey("grave", project, ""), place);
  if (own !== "ready") return;
  const byClass = `ready ${readyClass(task)}` as const;
  visit(listKey(byClass, project, ""), ranked);
  for (const label of task.labels) {
    visit(listKey(own, project, label), ranked);
    visit(listKey(byClass, project, label), ranked);
  }
}

function readyClass({ risk = "green", approved }: Task): ReadyClass {
  return approved === true && (risk === "red" || risk === "critical") ? `${risk} approved` : risk;
}

function listKey(name: ListName | "", project: string | null, label: string): string {
  return project === null ? name : `${name}\n${project}\n${label}`;
}

function addToLists(tasks: Tasks, task: Task): void {
  eachList(tasks, task, (key, place) => addToSorted(tasks.lists, key, place));
  const session = claimerOf(task)?.session;
  if (session === undefined) return;
  addToSet(tasks.claims, session, task.id);
  tasks.touched.add(session);
  tasks.revisions.changed(session);
}

function removeFromLists(tasks: Tasks, task: Task): void {
  eachList(tasks, task, (key, place) => removeFromSorted(tasks.lists, key, place));
  const session = claimerOf(task)?.session;
  if (session === undefined) return;
  removeFromSet(tasks.claims, session, task.id);
  tasks.touched.add(session);
  tasks.revisions.changed(session);
}

export function claimerOf(task: Task): Actor | null {
  return task.state.status === "active" ? task.state.claimer : null;
}

// The log's commands for tasks.

/** A task to create. `dependsOn`: ids, prefixes of ids, or names of other tasks in the same command. */
export interface NewTask {
  readonly name: string | null;
  readonly description: string;
  readonly priority: TaskPriority;
  readonly labels: readonly string[];
  readonly dependsOn: readonly string[];
  /** A debate's id or a part of one. */
  readonly debate?: string;
  /** Absent: green. */
  readonly risk?: Risk;
}

/** Creates all of these tasks, or none. */
export interface TaskCreate {
  readonly by: Actor | null;
  readonly tasks: readonly NewTask[];
  /** Whether the request had a list of tasks; its reply then has one too. */
  readonly many: boolean;
  readonly project: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/**
 * Imports tasks of another store under their own ids; a task whose id exists already stays as it is. `debate` is an id;
 * one that is not in the task's project is dropped.
 */
export interface TaskImport {
  readonly by: Actor | null;
  readonly tasks: readonly Omit<Task, "n" | "createdBy">[];
  readonly retry?: Retry;
}

/** Changes a task; a null field stays as it is, and an absent one. `debate`: null: none. */
export interface TaskUpdate {
  readonly by: Actor | null;
  readonly task: string;
  readonly status: TaskStatus | null;
  readonly result: string | null;
  readonly dependsOn: readonly string[] | null;
  readonly description: string | null;
  readonly priority: TaskPriority | null;
  readonly labels: readonly string[] | null;
  readonly debate?: string | null;
  readonly risk?: Risk | null;
  /** Where an unregistered session would begin; the project's short names of tasks count. */
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Claims a task. `task: null`: the first ready task of the project, by priority and age, that has all `labels`. */
export interface TaskClaim {
  readonly actor: Actor;
  readonly task: string | null;
  readonly labels: readonly string[];
  readonly project: string;
  readonly cwd: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

interface TaskRelease {
  readonly by: Actor | null;
  readonly task: string;
  /** A sentence, of a release of all that the claimer has; absent: `released`. */
  readonly cause?: string;
  /** The project whose short names count, as in all these commands; absent: whole ids alone. */
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

interface TaskRemove {
  readonly by: Actor | null;
  readonly tasks: readonly string[];
  readonly project?: string;
  readonly retry?: Retry;
}

/** A person says yes to the next run of a red or critical task. */
interface TaskApprove {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  readonly task: string;
  readonly project?: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Makes tasks pending that their author has or did, since its work came back. Daemons alone send it. */
export interface TaskReturn {
  readonly tasks: readonly string[];
  /** The project that has the tasks. */
  readonly project: string;
  /** The author's session, as that project's log calls it. */
  readonly author: string;
  /** A sentence. */
  readonly cause: string;
  /** Null: a person. */
  readonly by: Actor | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** These commands by name. */
export interface TaskCommands {
  task_create: TaskCreate;
  task_import: TaskImport;
  task_update: TaskUpdate;
  task_claim: TaskClaim;
  task_release: TaskRelease;
  task_remove: TaskRemove;
  task_approve: TaskApprove;
  task_return: TaskReturn;
}

// What a snapshot has of tasks.

interface Fields {
  readonly taskCount: number;
  /** Absent in snapshots from before tasks were numbered by project. */
  readonly taskNumbers?: readonly (readonly [string, number])[];
  readonly taskNumbersFrom?: number;
  readonly taskStamp?: Tasks["stamp"];
}

export const taskRows = {
  head: head(
    (tasks: Tasks): Fields => ({
      taskCount: tasks.created,
      taskNumbers: [...tasks.numbers],
      taskNumbersFrom: tasks.numbersFrom,
      taskStamp: tasks.stamp,
    }),
    (tasks, { taskCount, taskNumbers = [], taskNumbersFrom, taskStamp }) => {
      tasks.created = taskCount;
      for (const [project, n] of taskNumbers) tasks.numbers.set(project, n);
      tasks.numbersFrom = taskNumbersFrom ?? taskCount;
      tasks.stamp = taskStamp ?? { ms: 0, top: 0 };
    },
  ),
  lists: {
    // Whether a task is ready depends on its dependencies: `readState` inserts all tasks together.
    tasks: formList(
      (tasks: Tasks) => tasks.all,
      plainTask,
      (tasks, task) => tasks.all.set(task.id, task),
    ),
  },
};

export function plainTask(task: Task): Task {
  return {
    id: task.id,
    n: task.n,
    number: task.number,
    project: task.project,
    createdAt: task.createdAt,
    createdBy: task.createdBy,
    updatedAt: task.updatedAt,
    description: task.description,
    priority: task.priority,
    labels: task.labels,
    dependsOn: task.dependsOn,
    attempts: task.attempts,
    debate: task.debate,
    risk: task.risk,
    approved: task.approved,
    state: task.state,
  };
}
