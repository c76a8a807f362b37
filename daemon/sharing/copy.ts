/**
 * Copies a project's open tasks and durable context from one log to another, when the project is shared or leaves the store.
 *
 * Invariants: what the other log has already stays as it is there. So a copy that broke off anywhere may run again. What is
 * removed here is there. Each step is one entry, and a log that refuses one ends the copy with that refusal.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { CopyNotes } from "../../protocol/schemas/store.ts";
import type { Actor } from "../core/frame/actors.ts";
import { contextAt } from "../core/messages/context.ts";
import type { State } from "../core/state.ts";
import { type ContextItem, isVerdictKey, itemKey, itemsOf, sizeOf } from "../core/tables/context.ts";
import type { Command, Reply } from "../core/tables/entries.ts";
import { listOf, numberOf, type Task, type TaskState, taskAt } from "../core/tables/tasks.ts";
import { noRoom } from "../core/tasks/create.ts";

/** What a copy needs of a log. */
export interface CopyLog {
  readonly state: State;
  /** Core time now. */
  readonly now: number;
  submitAndWait(command: Command): Promise<Reply>;
}

/** One project, as one log calls it. */
export interface Place {
  readonly log: CopyLog;
  readonly project: string;
}

/** What a project has to copy. */
export interface Contents {
  readonly tasks: readonly Task[];
  readonly context: readonly ContextItem[];
}

/** A task that has another number in the other log. */
type Renumbered = CopyNotes["numbers"][number];
/** A key that had another value there. */
type KeptAside = CopyNotes["keys"][number];

/** A log refused a step; what was done before stays, and the same copy may run again. */
export class CopyRefused extends Error {
  override readonly name = "CopyRefused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.error);
    this.refusal = refusal;
  }
}

/** Tasks of one entry: a store gets no entry of many megabytes. */
const tasksPerEntry = 100;

/** Returns the tasks that are not done, and the durable values, but for verdicts of debates, which stay with their debates. */
export function contentsOf({ log, project }: Place): Contents {
  const { tasks, context } = log.state;
  const lists = (["pending", "active", "failed"] as const).map(name => listOf(tasks, name, project));
  const open = lists.flatMap(list => [...list]).map(place => taskAt(tasks, place));
  open.sort((a, b) => a.n - b.n);
  const kept = [...itemsOf(context, project, log.now)];
  return { tasks: open, context: kept.filter(({ durable, key }) => durable && !isVerdictKey(key)) };
}

/** Refuses a move for which the other log has no room, or has another task under one of the ids. */
export function mayCopy(from: Place, to: Place): void {
  const { tasks, context } = contentsOf(from);
  const there = to.log.state;
  const fresh = tasks.filter(task => !isThere(task, to));
  const room = noRoom(
    there.tasks,
    fresh.map(task => ({ ...task, project: to.project })),
  );
  if (room !== null) throw new CopyRefused(room);
  const keys = there.context.items.size - there.context.verdicts + context.length;
  const bytes = context.reduce(
    (sum, item) => sum + sizeOf({ ...item, project: to.project }),
    there.context.bytes,
  );
  const { contextBytes, contextKeysMax } = there.limits;
  if (keys <= contextKeysMax && bytes <= contextBytes) return;
  const most = `${contextBytes} bytes and ${contextKeysMax} keys`;
  const error = `all projects there together may have ${most} of context; delete what is not needed`;
  throw new CopyRefused(refuse("context_full", error));
}

/** Whether the other log has the task. Rejects an id that another one has there. */
function isThere(task: Task, to: Place): boolean {
  const there = to.log.state.tasks.all.get(task.id);
  if (there !== undefined && !isCopy(task, there, to)) throw new CopyRefused(takenId(task));
  return there !== undefined;
}

/** Tasks that were copied. */
export interface CopiedTasks {
  readonly numbers: readonly Renumbered[];
  /** How many the other log did not have. */
  readonly imported: number;
}

/**
 * Copies the tasks under their ids, each with its claim: `actorIn` says who an actor is in the other log, null: nobody there.
 * A task whose claimer is nobody there is pending; dependencies on tasks that are not there go.
 */
export async function copyTasks(
  from: Place,
  to: Place,
  tasks: readonly Task[],
  actorIn: (actor: Actor) => Actor | null,
): Promise<CopiedTasks> {
  const ids = new Set(tasks.map(({ id }) => id));
  const { all } = to.log.state.tasks;
  const isInTo = (id: string) => {
    const task = from.log.state.tasks.all.get(id);
    return ids.has(id) || (task !== undefined && isCopy(task, all.get(id), to));
  };
  const ordered = dependenciesFirst(tasks.filter(task => !isThere(task, to)));
  for (let at = 0; at < ordered.length; at += tasksPerEntry) {
    const some = ordered.slice(at, at + tasksPerEntry);
    // A session that ends meanwhile gives back its own task alone.
    if ((await takes(some, actorIn)) || (await takes(some, actorIn))) continue;
    for (const task of some) if (!(await takes([task], actorIn))) await takes([task], () => null);
  }
  return {
    numbers: tasks.flatMap(task => {
      const there = all.get(task.id);
      if (there === undefined) return [];
      const [before, after] = [numberOf(task), numberOf(there)];
      return before === after ? [] : [{ task: task.id, before, after }];
    }),
    imported: ordered.length,
  };

  /** Copies the tasks in one entry, or returns false if one of their sessions has ended. */
  async function takes(some: readonly Task[], actorOf: typeof actorIn): Promise<boolean> {
    const copies = some.map(({ n: _n, createdBy: _by, number: _number, ...task }) => {
      const { state } = from.log.state.tasks.all.get(task.id) ?? task;
      const dependsOn = task.dependsOn.filter(isInTo);
      return { ...task, project: to.project, dependsOn, state: stateIn(state, actorOf) };
    });
    const reply = await to.log.submitAndWait({ type: "task_import", by: null, tasks: copies });
    if (!reply.ok && !hasEnded.has(reply.code)) throw new CopyRefused(reply);
    return reply.ok;
  }
}

const hasEnded: ReadonlySet<string> = new Set(["unknown_session", "session_ended"]);

/** Returns the state of a task in the other log. */
function stateIn(state: TaskState, actorIn: (actor: Actor) => Actor | null): TaskState {
  // The other log had it, and lost it before it was gone here.
  if (isLeaving({ state })) return { status: "pending" };
  if (state.status !== "active" || state.claimer === null) return state;
  const claimer = actorIn(state.claimer);
  return claimer === null ? { status: "pending" } : { status: "active", claimer };
}

/** Returns the tasks that the other log does not have. */
export function missingAt({ log }: Place, tasks: readonly Task[]): readonly Task[] {
  return tasks.filter(({ id }) => !log.state.tasks.all.has(id));
}

/** Whether `there` is the task itself, as an earlier run copied it, and not another one that got the same id by chance. */
export function isCopy(task: Task | undefined, there: Task | undefined, to: Place): there is Task {
  return task !== undefined && there?.project === to.project && there.createdAt === task.createdAt;
}

/** Whether the task is being removed here, since the other log has all of it. */
export function isLeaving({ state }: Pick<Task, "state">): boolean {
  return state.status === "failed" && state.reason === movedReason;
}

const movedReason = "it is in another log now";

function takenId({ id }: Task): Refusal {
  const error = `another task has the id ${id} there; write this one anew (kite task add), cancel it, and run this again`;
  return refuse("task_state", error, { task: id });
}

/** Returns the tasks so that each comes after those that it depends on. */
export function dependenciesFirst(tasks: readonly Task[]): readonly Task[] {
  const byId = new Map(tasks.map(task => [task.id, task]));
  const ordered = new Set<Task>();
  for (const first of tasks) {
    // A chain of dependencies may be longer than the stack of calls.
    const path = [first];
    for (let task = path.at(-1); task !== undefined; task = path.at(-1)) {
      const missing = ordered.has(task) ? undefined : task.dependsOn.map(id => byId.get(id)).find(isMissing);
      if (missing !== undefined) path.push(missing);
      else {
        ordered.add(task);
        path.pop();
      }
    }
  }
  return [...ordered];

  function isMissing(task: Task | undefined): task is Task {
    return task !== undefined && !ordered.has(task);
  }
}

/**
 * Copies the values. The value that the other log has under a key stays, unless `replaces` says that the value of here
 * replaces it. Another value of here then goes under `key@aside`, or `key@aside-2`..., with a long key cut. Returns those
 * keys. Rejects if all of them are taken.
 */
export async function copyContext(
  from: Place,
  to: Place,
  items: readonly ContextItem[],
  { aside, replaces }: { readonly aside: string; readonly replaces?: Replaces },
): Promise<readonly KeptAside[]> {
  const kept: KeptAside[] = [];
  await eachOf(items, async item => {
    const ttlMs = item.endsAt === null ? null : Math.max(1, item.endsAt - from.log.now);
    const there = contextAt(to.log.state, to.project, item.key, to.log.now);
    const which = there === undefined || replaces === undefined ? null : replaces(item, there);
    if (which === "theirs") return;
    const ifVersion = which === "mine" ? (there?.version ?? 0) : 0;
    const as = await copyItem(to, { ...item, ttlMs, ifVersion }, keysFor(item.key, aside));
    if (as !== item.key) kept.push({ key: item.key, as });
  });
  return kept;
}

/** Returns which of two values under one key counts; null: both. */
export type Replaces = (mine: ContextItem, theirs: ContextItem) => "mine" | "theirs" | null;

/**
 * Keeps a text there as `key@aside`, or as `key@aside-2`..., and returns its key. `wallMs`: when it was written. A run that broke off
 * keeps nothing twice.
 */
export async function keepText(
  to: Place,
  { key, text, wallMs }: { readonly key: string; readonly text: string; readonly wallMs: number },
  aside: string,
): Promise<string> {
  const bytes = Buffer.byteLength(JSON.stringify(text));
  const item = { key, value: text, bytes, ttlMs: null, at: wallMs, ifVersion: 0 };
  return copyItem(to, item, asides(key, aside));
}

type NewItem = Pick<ContextItem, "key" | "value" | "bytes" | "at"> & {
  readonly ttlMs: number | null;
  readonly ifVersion: number;
};

/** Returns the first of the keys under which the value is there now. */
async function copyItem({ log, project }: Place, item: NewItem, keys: Iterable<string>): Promise<string> {
  const { value, bytes, ttlMs, at: wallMs } = item;
  const taken: string[] = [];
  for (const key of keys) {
    taken.push(key);
    const ifVersion = key === item.key ? item.ifVersion : 0;
    const reply = await log.submitAndWait({
      ...{ type: "context_set", actor: null, project, key, value, bytes },
      ...{ durable: true, ifVersion, ttlMs, wallMs },
    });
    if (reply.ok) return key;
    if (reply.code !== "context_conflict") throw new CopyRefused(reply);
    const there = log.state.context.items.get(itemKey(project, key));
    if (there !== undefined && isSame(there, item)) return key;
  }
  const [first = ""] = taken.filter(key => key !== item.key);
  const error = `${first} and all like it are taken; a person deletes those that nobody needs: kite context rm KEY`;
  throw new CopyRefused(refuse("context_full", error));
}

const asideMax = 20;

/** Yields the keys to try. */
function* keysFor(key: string, aside: string): Generator<string> {
  yield key;
  yield* asides(key, aside);
}

function* asides(key: string, aside: string): Generator<string> {
  for (let n = 1; n <= asideMax; n += 1) {
    const end = `@${aside}${n === 1 ? "" : `-${n}`}`;
    const chars = [...key];
    while (Buffer.byteLength(chars.join("") + end) > limits.idBytes) chars.pop();
    yield chars.join("") + end;
  }
}

function isSame(a: Pick<ContextItem, "value">, b: Pick<ContextItem, "value">): boolean {
  return JSON.stringify(a.value) === JSON.stringify(b.value);
}

/** Removes the tasks that the other log has now, but for those that `stays`. A removal that broke off may run again. */
export async function removeCopied(from: Place, to: Place, stays: (task: Task) => boolean): Promise<void> {
  const { all } = to.log.state.tasks;
  const isThere = (task: Task) => isCopy(task, all.get(task.id), to);
  await removeTasks(
    from.log,
    contentsOf(from).tasks.filter(task => isThere(task) && !stays(task)),
  );
}

/** Removes tasks, also those that are not over. */
export async function removeTasks(log: CopyLog, tasks: readonly Task[]): Promise<void> {
  // A task leaves when no open one depends on it, and only one that is over.
  const leaving = [...dependenciesFirst(tasks)].reverse();
  await eachOf(leaving, async ({ id, state }) => {
    if (state.status === "failed" || state.status === "done") return;
    const moved = { status: "failed", result: movedReason } as const;
    await enter(log, { ...noChange, type: "task_update", task: id, ...moved, wallMs: log.state.t });
  });
  for (let at = 0; at < leaving.length; at += tasksPerEntry) {
    const tasks = leaving.slice(at, at + tasksPerEntry).map(({ id }) => id);
    await enter(log, { type: "task_remove", by: null, tasks });
  }
}

/** Removes values, but for those that somebody set anew meanwhile. */
export async function removeContext({ log, project }: Place, items: readonly ContextItem[]): Promise<void> {
  await eachOf(items, async ({ key, version }) => {
    const reply = await log.submitAndWait({
      ...{ type: "context_delete", actor: null, project, key, ifVersion: version },
    });
    // An earlier run may have removed it.
    if (!reply.ok && reply.code !== "context_conflict" && reply.code !== "context_absent")
      throw new CopyRefused(reply);
  });
}

/** Entries that are under way at a time: a log stores many as fast as one. */
const atOnce = 100;

/** Does the work for each, some at a time. Rejects with the first refusal, when none of these is under way any more. */
async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) {
    const results = await Promise.allSettled(items.slice(at, at + atOnce).map(work));
    const failed = results.find(result => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

/** What a change of a task leaves as it is. */
export const noChange = {
  by: null,
  dependsOn: null,
  description: null,
  priority: null,
  labels: null,
  project: "",
  cwd: "",
} as const;

/** Enters a command. Rejects with `CopyRefused` if the log refuses it. */
export async function enter(log: CopyLog, command: Command): Promise<Reply> {
  const reply = await log.submitAndWait(command);
  if (!reply.ok) throw new CopyRefused(reply);
  return reply;
}
