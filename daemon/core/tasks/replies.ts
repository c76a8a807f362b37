/** How tasks are named in requests, replies, refusals and events. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import { limits } from "../../../protocol/limits.ts";
import { isGrave, type Risk, risks } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import type { DependencyRow, TaskNews, TaskRow } from "../../../protocol/schemas/task.ts";
import type { Actor } from "../frame/actors.ts";
import { ambiguity, isShortOf, matchesOf, nearestId, scopeOf } from "../frame/records.ts";
import type { BaseState } from "../tables/base-state.ts";
import { ruleAt, type Step, type Taking } from "../tables/entries.ts";
import { actorRow } from "../tables/naming.ts";
import {
  claimerOf,
  classOf,
  isDone,
  listOf,
  numberedAt,
  numberOf,
  type ReadyClass,
  resultOf,
  type Task,
  type Tasks,
  taskAt,
  taskOf,
} from "../tables/tasks.ts";

// The risk of a task: when it may run, and who may change it.
//
// Invariants: at most one of the red and critical tasks of a project is active. A critical task runs only with a person's
// yes. A red task begins with a person's yes, or with what stands in for it. A yes is for one run. Any actor raises a risk.
// A person lowers it; another actor lowers it at most to red, and only if a point lets it.

type Rated = Pick<Task, "id" | "project" | "risk" | "approved" | "state">;

export function riskOf({ risk = "green" }: Pick<Task, "risk">): Risk {
  return risk;
}

/** Returns why the task cannot run now, whoever asks, in a sentence with what to do; null: nothing is in its way. */
function heldBy(state: BaseState, task: Rated, by: Actor | null = null): string | null {
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

/** What finding a task needs of the state. */
type Named = Pick<BaseState, "rules" | "tasks">;

/**
 * Returns the task that a request names, or a refusal. A name is a whole id. With `project` it may also be a task's number
 * behind `#`, a prefix of an id, or the id's last part. Only one task may have it. `project` null: whole ids alone.
 */
export function findTask(state: Named, name: string, project: string | null): Task | Refusal {
  const { tasks } = state;
  const exact = tasks.all.get(name);
  if (exact !== undefined) return exact;
  if (project === null) return unknownTask(tasks, name, project);
  const [, number] = (state.rules >= 2 && /^#(\d{1,15})$/.exec(name)) || [];
  const matches =
    number === undefined
      ? matchesOf(tasks, name, scopeOf(project))
      : numberedAt(tasks, project, Number(number));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return taskOf(tasks, first);
  if (first === undefined) return unknownTask(tasks, name, project);
  const { error, shown } = ambiguity("tasks", name, matches);
  return refuse("ambiguous_task", error, { task: name, matches: shown });
}

/**
 * Returns the ids of the tasks that `findTask` finds for these names, each once. `names` of other tasks take precedence over
 * numbers and parts of ids.
 */
export function findAll(
  state: Named,
  wanted: readonly string[],
  project: string | null,
  names: ReadonlyMap<string, string> = new Map(),
): readonly string[] | Refusal {
  const ids = new Set<string>();
  for (const name of wanted) {
    const own = names.get(name);
    const found = own ?? findTask(state, name, project);
    if (typeof found === "string") ids.add(found);
    else if (isTask(found)) ids.add(found.id);
    else return found;
  }
  return [...ids];
}

/**
 * Refuses new dependencies if a task would get more than `limits.taskDependentsMax` dependents, or returns null. The
 * bound exists because one step makes all dependents of a task ready.
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

/** Refuses an unknown name with the nearest id of the project. */
function unknownTask(tasks: Tasks, name: string, project: string | null): Refusal {
  const near = project === null ? null : nearestId(tasks, name, scopeOf(project));
  const isShort = isShortOf("t", name);
  const where = isShort && project !== null ? " in this project" : "";
  const hint = near === null ? "kite task list shows them" : `did you mean ${near}?`;
  const other = isShort ? "; a task of another project needs its whole id" : "";
  return refuse("unknown_task", `no task ${name}${where}; ${hint}${other}`, { task: name, nearest: near });
}

export function isTask(found: Task | Refusal): found is Task {
  return "state" in found;
}

export function taskRow(state: BaseState, task: Task): TaskRow {
  const { id, description, project, priority, labels, dependsOn, createdAt, updatedAt, attempts } = task;
  const assignee = assigneeOf(state, task);
  return numbered(state, numberOf(task), {
    id,
    description,
    project,
    priority,
    status: task.state.status,
    assignee: assignee?.id ?? null,
    assigneeAgent: assignee?.agent ?? null,
    assigneeName: assignee?.name ?? null,
    ...(isAssigneeLost(state, task) ? { assigneeLost: true as const } : {}),
    labels,
    dependsOn,
    blockedBy: blockedBy(state, task),
    createdBy: task.createdBy?.name ?? null,
    createdAt,
    updatedAt,
    result: resultOf(task.state),
    ...(task.state.status === "done" && task.state.branch !== undefined ? { branch: task.state.branch } : {}),
    attempts,
    debate: task.debate ?? null,
    risk: riskOf(task),
    approved: task.approved === true,
    held: classOf(state.tasks, task) === "ready" ? heldBy(state, task) : null,
  });
}

/** Returns the row with a task's number; under the first rules no row had one, and replies kept then stay as they are. */
export function numbered<Row, N>(state: Named, number: N, row: Row): Row & { readonly number: N } {
  return (state.rules < 2 ? row : { ...row, number }) as Row & { readonly number: N };
}

/** Returns the actor that claims the task, or claimed it when it ended. */
export function assigneeOf(state: BaseState, { state: now }: Task): ActorRow | null {
  if (now.status === "pending") return null;
  if (now.status === "active") return now.claimer === null ? null : actorRow(state, now.claimer);
  return now.by;
}

/** Whether nothing is heard of the session that claims the task, or of that one's node. */
function isAssigneeLost({ sessions }: BaseState, task: Task): boolean {
  const claimer = claimerOf(task);
  return claimer !== null && (sessions.live.get(claimer.session)?.lostAt ?? null) !== null;
}

/** Returns the task's dependencies that are not done. */
export function blockedBy(state: Named, task: Task): DependencyRow[] {
  const { tasks } = state;
  if (!tasks.open.has(task.id)) return [];
  const open = task.dependsOn.filter(id => !isDone(tasks, id));
  return open.map(id => dependencyRow(state, taskOf(tasks, id), task.project));
}

/** Returns the row of a task on which one of `project` depends. */
export function dependencyRow(state: Named, task: Task, project: string): DependencyRow {
  const number = task.project === project ? numberOf(task) : null;
  return numbered(state, number, { task: task.id, status: task.state.status });
}

/** Refuses an activation and names the dependencies that are not done. */
export function blockedRefusal(open: readonly DependencyRow[]): Refusal {
  const names = open.map(({ task }) => task).join(", ");
  return refuse("task_blocked", `blocked by unfinished dependencies: ${names}`, { blockedBy: open });
}

/** Refuses a request for a task that another actor has claimed; `hint`: what to do, if anything is heard of that one. */
export function claimedRefusal(state: BaseState, task: Task, hint: string): Refusal {
  const assignee = assigneeOf(state, task);
  const who = assignee?.name ?? "another session";
  const error = isAssigneeLost(state, task)
    ? `${who} has ${task.id} and is lost: nothing is heard of it; claim another one, or a person frees this one: kite task release ${task.id}`
    : `${who} works on ${task.id}; ${hint}`;
  return refuse("task_claimed", error, {
    task: task.id,
    assignee: assignee?.id ?? null,
    assigneeName: assignee?.name ?? null,
  });
}

/** Refuses a change that the task's status does not allow. */
export function stateRefusal(state: BaseState, task: Task, hint: string): Refusal {
  const { status } = task.state;
  const by = status === "pending" ? null : assigneeOf(state, task);
  const error = `${task.id} is ${status}${by === null ? "" : ` by ${by.name}`}; ${hint}`;
  return refuse("task_state", error, { task: task.id, status });
}

export function whoOf(state: BaseState, by: Actor | null): ActorRow | null {
  return by === null ? null : actorRow(state, by);
}

type TaskEvent = Exclude<Extract<KiteEvent, TaskNews>["event"], "task_released">;
type TaskEnd = { readonly event: "task_released" | "task_failed"; readonly cause: string };

/** Emits an event of one task, about the sessions of its creator and of `about`, who worked on it before the step. */
export function tell(
  step: Step,
  task: Task,
  event: TaskEvent | TaskEnd | { readonly event: "task_claimed"; readonly cause: "registered" },
  by: ActorRow | null,
  about: ActorRow | null = null,
): void {
  const { id, description, project, createdBy } = task;
  const news = {
    task: id,
    number: numberOf(task),
    description: description.slice(0, limits.quoteChars),
    project,
    status: task.state.status,
    by,
  };
  const named = [createdBy?.id, about?.id].filter(session => session !== undefined);
  const full = typeof event === "string" ? { event, ...news } : { ...event, ...news };
  const worker = about === null ? {} : { worker: about };
  step.events.push({ event: full, about: [...new Set(named)], project, ...worker });
}

/** Emits one event per project for the tasks that became ready. */
export function tellReady(step: Step, ready: readonly Task[]): void {
  for (const project of new Set(ready.map(task => task.project))) {
    const ids = ready.filter(task => task.project === project).map(task => task.id);
    const tasks = ids.slice(0, limits.idsNamedMax);
    const more = ids.length > tasks.length ? { more: ids.length - tasks.length } : {};
    step.events.push({ event: { event: "task_ready", tasks, ...more, project }, about: [], project });
  }
}

// Finds and names dependency cycles. Invariant: the refusal comes before any task changes.

/**
 * Returns a cycle that is reachable from `starts`, as a path that ends with its first task again; or null.
 * The search visits every task once and does not recurse, because a path may contain all tasks.
 */
export function findCycle(
  starts: Iterable<string>,
  dependsOn: (id: string) => readonly string[],
): string[] | null {
  const done = new Set<string>();
  for (const start of starts) {
    if (done.has(start)) continue;
    const path: { readonly id: string; readonly rest: Iterator<string> }[] = [];
    const onPath = new Set<string>();
    const enter = (id: string) => {
      path.push({ id, rest: dependsOn(id)[Symbol.iterator]() });
      onPath.add(id);
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        path.pop();
        onPath.delete(top.id);
        done.add(top.id);
      } else if (onPath.has(next.value)) {
        const ids = path.map(({ id }) => id);
        return [...ids.slice(ids.indexOf(next.value)), next.value];
      } else if (!done.has(next.value)) {
        enter(next.value);
      }
    }
  }
  return null;
}

export function cycleRefusal(cycle: readonly string[]): Refusal {
  const path = shortened(cycle).join(" → ");
  const error = `${cycle[0]} would depend on itself: ${path}; leave one of these dependencies out`;
  return refuse("task_cycle", error, { cycle: shortened(cycle) });
}

const shownMax = 20;

function shortened(cycle: readonly string[]): string[] {
  if (cycle.length <= shownMax) return [...cycle];
  const half = shownMax / 2;
  return [...cycle.slice(0, half), `${cycle.length - shownMax} more`, ...cycle.slice(-half)];
}
