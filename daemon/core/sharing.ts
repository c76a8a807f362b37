/**
 * Which projects of this machine are shared through its store.
 *
 * Invariants: an entry of `project_share` is the moment from which the store has the tasks, messages, context and debates of a
 * project, and one of `project_left` the moment from which it has them no more. Between the two, this log has no open task and
 * no durable value of the project, but for what a share has not moved yet, or a leave has copied back already. So a move that
 * broke off is known by the row, and each of its steps may run again.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { Records } from "./frame/records.ts";
import { valueList } from "./frame/saved-rows.ts";
import type { BaseState, Meta, Rules } from "./tables/base-state.ts";
import { type ContextItem, contextRecords, isVerdictKey, itemsOf } from "./tables/context.ts";
import { type CommandOf, lasting, type Step } from "./tables/entries.ts";
import { listOf, removeTask, setDependencies, type Task, taskAt } from "./tables/tasks.ts";

/** A store that machines share. */
export interface SharedThrough {
  /** The id that the store has given itself. */
  readonly id: string;
  /** Its address as people name it: no password is in it. */
  readonly where: string;
}

/** A project that is shared, or was. */
export interface Sharing {
  /** As this machine calls it, and as the store does. */
  readonly project: string;
  readonly as: string;
  readonly store: SharedThrough;
  /**
   * `moving`: what this log has of it goes to the store. `leaving`: what the store has of it is copied back. `left`: the store
   * has it no more for this machine, which knows how it was then.
   */
  readonly is: "moving" | "shared" | "leaving" | "left";
  /** How tasks and values were when this machine left; empty: nothing is known. */
  readonly bases: Bases;
}

/**
 * Digests of tasks by their ids, and of durable values by their keys. `there`: the store has the task in another way, as it may
 * depend on tasks that are not here. Absent: in the same way.
 */
export interface Bases {
  readonly tasks: readonly (readonly [id: string, here: string, there?: string])[];
  readonly keys: readonly (readonly [key: string, digest: string])[];
}

const noBases: Bases = { tasks: [], keys: [] };

// The log's commands.

/** The store has the project from now on. */
interface ProjectShare {
  readonly project: string;
  readonly as: string;
  readonly store: SharedThrough;
}

/** The store has all that this log had of the project, or a leave that broke off is undone: what is here goes. */
interface ProjectMoved {
  readonly project: string;
}

/** What the store has of the project is going to be copied back. */
interface ProjectLeave {
  readonly project: string;
}

/** All of it is here. This may end a share that broke off, too: what that did not move never left. */
interface ProjectLeft {
  readonly project: string;
  readonly bases: Bases;
}

export interface SharingCommands {
  project_share: ProjectShare;
  project_moved: ProjectMoved;
  project_leave: ProjectLeave;
  project_left: ProjectLeft;
}

declare module "./tables/entries.ts" {
  interface Commands extends SharingCommands {}
}

// The table.

const records = new Records("projects", ({ project }: Sharing) => project, {});

export type Sharings = ReturnType<typeof records.empty>;

/** The state as this slice sees it. */
interface State extends BaseState {
  readonly sharings: Sharings;
}

export const sharingRows = {
  empty: (): Sharings => records.empty(),
  lists: {
    sharings: valueList(
      ({ projects }: Sharings) => projects,
      (table, row: Sharing) => records.put(table, row),
    ),
  },
};

/** Returns the sharing of a project whose tasks the store has now; undefined: this machine's own log has them. */
export function sharingOf({ sharings }: Pick<State, "sharings">, project: string): Sharing | undefined {
  const row = sharings.projects.get(project);
  return row?.is === "left" ? undefined : row;
}

/** Yields the projects whose tasks the store has now. */
export function* sharedProjects({ sharings }: Pick<State, "sharings">): Generator<Sharing, void> {
  for (const row of sharings.projects.values()) if (row.is !== "left") yield row;
}

// What moves between this log and the store. Tasks that are done stay in the log that they were done in, and verdicts with their
// debates.

/** Returns the project's tasks that are not done, in the order of their numbers. */
export function openTasksIn({ tasks }: Pick<State, "tasks">, project: string): Task[] {
  const lists = (["pending", "active", "failed"] as const).map(name => listOf(tasks, name, project));
  const open = lists.flatMap(list => [...list]).map(place => taskAt(tasks, place));
  return open.sort((a, b) => a.n - b.n);
}

/** Returns the project's durable values at `now` (core time, ms), but for verdicts. */
export function durableValuesIn(
  { context }: Pick<State, "context">,
  project: string,
  now: number,
): ContextItem[] {
  return [...itemsOf(context, project, now)].filter(({ durable, key }) => durable && !isVerdictKey(key));
}

// The rules.

function projectShare(state: State, command: CommandOf<"project_share">, _meta: Meta, step: Step): void {
  const { project, as, store } = command;
  const known = state.sharings.projects.get(project);
  const isSame = known?.as === as && known.store.id === store.id;
  // What was made here while no store was set moves, too.
  if (known !== undefined && known.is !== "left" && !(known.is === "shared" && isSame)) {
    step.reply = refuse("store_project", `${project} is shared already, as ${known.as}`);
    return;
  }
  if (known === undefined && state.sharings.projects.size >= limits.sharedProjectsMax) {
    const error = `this machine shares ${limits.sharedProjectsMax} projects, as many as it may`;
    step.reply = refuse("store_project", error);
    return;
  }
  const bases = isSame ? known.bases : noBases;
  records.put(state.sharings, { project, as, store, is: "moving", bases });
  step.reply = { ok: true };
}

function projectMoved(state: State, { project }: CommandOf<"project_moved">, _meta: Meta, step: Step): void {
  const known = state.sharings.projects.get(project);
  if (known?.is !== "moving" && known?.is !== "leaving") {
    step.reply = notSo(project);
    return;
  }
  removeAll(state, project);
  records.put(state.sharings, { ...known, is: "shared", bases: noBases });
  step.reply = { ok: true };
}

function projectLeave(state: State, { project }: CommandOf<"project_leave">, _meta: Meta, step: Step): void {
  const known = state.sharings.projects.get(project);
  if (known?.is !== "shared" && known?.is !== "leaving") {
    step.reply = notSo(project);
    return;
  }
  records.put(state.sharings, { ...known, is: "leaving" });
  step.reply = { ok: true };
}

function projectLeft(state: State, command: CommandOf<"project_left">, _meta: Meta, step: Step): void {
  const { project, bases } = command;
  const known = state.sharings.projects.get(project);
  if (known?.is !== "leaving" && known?.is !== "moving") {
    step.reply = notSo(project);
    return;
  }
  records.put(state.sharings, { ...known, is: "left", bases });
  step.reply = { ok: true };
}

function notSo(project: string): Refusal {
  return refuse("store_project", `${project} is not being moved to the store or back; nothing was changed`);
}

/** Removes the project's open tasks and durable values. Nobody ended or deleted them, so no event tells of it. */
function removeAll(state: State, project: string): void {
  const { tasks, context } = state;
  const leaving = openTasksIn(state, project);
  const ids = new Set(leaving.map(({ id }) => id));
  for (const task of leaving) removeNeeds(tasks, task, ids);
  for (const task of leaving) removeTask(tasks, task);
  for (const item of durableValuesIn(state, project, 0)) {
    contextRecords.drop(context, item);
    context.versions = Math.max(context.versions, item.version);
  }
}

/** Tasks that stay need it no more. */
function removeNeeds(tasks: State["tasks"], { id }: Task, leaving: ReadonlySet<string>): void {
  for (const other of [...(tasks.dependents.get(id) ?? [])].sort()) {
    const task = tasks.all.get(other);
    if (task === undefined || leaving.has(other)) continue;
    setDependencies(
      tasks,
      task,
      task.dependsOn.filter(need => need !== id),
    );
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkSharings({ sharings }: State): Generator<string> {
  yield* records.check(sharings, "sharings", limits.sharedProjectsMax);
}

export const sharingRules = {
  commands: {
    project_share: lasting(projectShare),
    project_moved: lasting(projectMoved),
    project_leave: lasting(projectLeave),
    project_left: lasting(projectLeft),
  },
} satisfies Rules<SharingCommands, State>;
