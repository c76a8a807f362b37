/**
 * What the simulated clients do with tasks, and the rules of tasks once more, written without the core's indexes: slow,
 * obvious, and blind to none of their bugs.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Command, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import type { NewTask } from "../../daemon/core/tables/tasks.ts";
import { numberOf, type Task } from "../../daemon/core/tables/tasks.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";
import { couldRun, type RolesBefore } from "./roles.ts";

/** Few enough to look at all of them after every entry. */
const tasksMax = 25;
const projects = ["/p", "/q"] as const;
const labels = ["web", "db"] as const;
const priorities = ["low", "normal", "high"] as const;

/** What clients were told of tasks in all lives, and what they may therefore rely on. */
export class TaskLives {
  readonly #random: Random;
  #made = 0;
  /** Ids that a client heard of as created; those that were removed since are out. */
  readonly #acknowledged = new Set<string>();
  /** Ids that were removed: who sends a creation again still hears of the task that it made. */
  readonly #removed = new Set<string>();
  #retried: Command[] = [];
  /** The number of the last task that each project created, as far as it is on disk. */
  readonly #lastNumbers = new Map<string, number>();
  /** Every id that this life gave or found. */
  readonly #given = new Set<string>();
  /** When a request that may be sent again was carried out, by its requestId. */
  readonly #carriedOut = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Something that a client asks for. */
  command(state: State, actor: Actor): Command {
    const random = this.#random;
    const by = random.chance(0.8) ? actor : null;
    const roll = random.int(1, 100);
    const place = { project: random.pick(projects), cwd: "/p", wallMs: random.int(0, 2) };
    if (roll <= 25 && state.tasks.all.size < tasksMax) return this.#create(state, by, place);
    if (roll <= 27) return this.#import(state, by);
    if (roll <= 55) {
      const task = random.chance(0.5) ? null : this.#name(state);
      return { type: "task_claim", actor, task, labels: this.#labels(), ...place };
    }
    if (roll <= 62)
      return { type: "task_release", by, task: this.#name(state), project: place.project, wallMs: 0 };
    if (roll <= 80 || state.tasks.all.size < tasksMax) return this.#update(state, by, place);
    const finished = [...state.tasks.all.values()].filter(t => t.state.status === "done");
    const tasks = random.chance(0.7) ? finished.map(({ id }) => id) : [this.#name(state)];
    return { type: "task_remove", by, tasks: tasks.length === 0 ? ["t-"] : tasks, project: place.project };
  }

  /** A client hears an answer. */
  heard(command: Command, reply: Reply): void {
    if (command.type !== "task_create" || !reply.ok) return;
    const { task, tasks } = reply;
    for (const row of Array.isArray(tasks) ? tasks : [task]) {
      if (typeof row !== "object" || row === null || !("id" in row)) continue;
      const id = String(row.id);
      if (!this.#removed.has(id)) this.#acknowledged.add(id);
    }
  }

  /** Everything that is wrong after an entry, which can have touched these slices; `before` is the tasks as they were. */
  *observe(
    state: State,
    before: TasksBefore,
    { command }: Entry,
    reply: Reply | null,
    touched: ReadonlySet<TableName>,
    roles: RolesBefore,
  ): Generator<string, void> {
    if (command.type === "task_remove" && reply?.ok) for (const id of before.keys()) this.#forget(state, id);
    yield* this.#doubled(state, before, command);
    if (command.type === "task_create") yield* this.#numbered(state, before);
    if (touched.has("tasks")) {
      yield* this.lost(state);
      yield* wrongsOfTasks(state);
    }
    if (command.type === "task_claim" && reply !== null) yield* wrongClaim(before, command, reply, roles);
    if ("task" in command && typeof command.task === "string" && reply !== null) {
      const project = "project" in command && typeof command.project === "string" ? command.project : null;
      yield* wrongName(before, command.task, project, reply);
    }
  }

  /** Acknowledged tasks that are not there any more. */
  *lost(state: State): Generator<string, void> {
    for (const id of this.#acknowledged) {
      if (!state.tasks.all.has(id)) yield `task ${id} was acknowledged and is lost`;
    }
  }

  /** What was sent again within ten minutes is not carried out again. */
  *#doubled(state: State, before: TasksBefore, command: Command): Generator<string, void> {
    if (command.type !== "task_create" || command.retry === undefined) return;
    if (state.tasks.all.size <= before.size) return;
    const { requestId } = command.retry;
    const at = this.#carriedOut.get(requestId);
    this.#carriedOut.set(requestId, state.t);
    if (at !== undefined && at + limits.replyKeptMs > state.t)
      yield `request ${requestId} was carried out twice`;
  }

  /** A new task counts on from the last one of its project, and no id comes twice. */
  *#numbered(state: State, before: TasksBefore): Generator<string, void> {
    for (const { id, project } of state.tasks.all.values()) {
      if (before.has(id)) continue;
      if (this.#given.has(id)) yield `the id ${id} was given twice`;
      this.#given.add(id);
      const n = Number.parseInt(id.slice(id.lastIndexOf("-") + 1), 36);
      const last = this.#lastNumbers.get(project) ?? 0;
      if (n <= last) yield `task ${id} of ${project} has a number that came before ${last}`;
      this.#lastNumbers.set(project, n);
    }
  }

  /** A life has ended: what it removed without anybody hearing of it may be gone, what it did undone. */
  restarted(entries: readonly Entry[], state: State): void {
    const kept = new Map([...state.replies].map(([key, { at }]) => [key.slice(key.indexOf("\n") + 1), at]));
    for (const requestId of this.#carriedOut.keys()) {
      // Of several times, long apart, a power cut may have taken the last.
      const at = kept.get(requestId);
      if (at === undefined) this.#carriedOut.delete(requestId);
      else this.#carriedOut.set(requestId, at);
    }
    this.#given.clear();
    for (const id of state.tasks.all.keys()) this.#given.add(id);
    this.#lastNumbers.clear();
    for (const [project, n] of state.tasks.numbers) this.#lastNumbers.set(project, n);
    if (entries.some(({ command }) => command.type === "task_remove"))
      for (const id of [...this.#acknowledged]) this.#forget(state, id);
  }

  #forget(state: State, id: string): void {
    if (state.tasks.all.has(id)) return;
    this.#acknowledged.delete(id);
    this.#removed.add(id);
  }

  #create(
    state: State,
    by: Actor | null,
    place: { readonly project: string; readonly wallMs: number },
  ): Command {
    const random = this.#random;
    if (this.#retried.length > 0 && random.chance(0.2)) return random.pick(this.#retried.slice(-5));
    const count = random.pick([1, 1, 2, 4]);
    const names = Array.from({ length: count }, (_, n) => `new-${n}`);
    const tasks: NewTask[] = names.map(name => {
      this.#made += 1;
      // Now and then with a cycle.
      const inner = random.chance(0.4) ? [random.pick(names)] : [];
      const outer = random.chance(0.5) ? [this.#name(state)] : [];
      const description = `made ${this.#made}`;
      const dependsOn = [...inner.filter(other => other !== name || random.chance(0.1)), ...outer];
      return { name, description, priority: random.pick(priorities), labels: this.#labels(), dependsOn };
    });
    const { project, wallMs } = place;
    const command: Command = { type: "task_create", by, tasks, many: count > 1, project, wallMs };
    if (random.chance(0.7)) return command;
    const retry = { by: by?.session ?? "", requestId: `t${random.bits()}`, digest: "body" };
    const retried: Command = { ...command, retry };
    this.#retried.push(retried);
    return retried;
  }

  #import(state: State, by: Actor | null): Command {
    const random = this.#random;
    this.#made += 1;
    const id = `t-0-${random.pick(["a", "b", "c", "d"])}`;
    const dependsOn = random.chance(0.5) ? [this.#name(state)] : [];
    const task = {
      id,
      project: random.pick(projects),
      createdAt: 0,
      updatedAt: 0,
      description: `made ${this.#made}`,
      priority: random.pick(priorities),
      labels: this.#labels(),
      dependsOn,
      attempts: random.int(0, 3),
      state: random.chance(0.5)
        ? ({ status: "pending" } as const)
        : ({ status: "done", result: "was", by: null } as const),
    };
    return { type: "task_import", by, tasks: [task] };
  }

  #update(
    state: State,
    by: Actor | null,
    place: { readonly project: string; readonly cwd: string; readonly wallMs: number },
  ): Command {
    const random = this.#random;
    const status = random.chance(0.8)
      ? random.pick(["pending", "active", "done", "done", "failed"] as const)
      : null;
    const dependsOn = random.chance(0.2) ? [this.#name(state), this.#name(state)] : null;
    return {
      type: "task_update",
      by,
      task: this.#name(state),
      status,
      result: status === "done" && random.chance(0.5) ? "went well" : null,
      dependsOn,
      description: null,
      priority: random.chance(0.2) ? random.pick(priorities) : null,
      labels: random.chance(0.2) ? this.#labels() : null,
      ...place,
    };
  }

  /** An id, the beginning of one (often of several), a number, or nobody's. */
  #name(state: State): string {
    const random = this.#random;
    const ids = [...state.tasks.all.keys()];
    if (ids.length === 0 || random.chance(0.03)) return "t-none";
    const id = random.pick(ids);
    if (random.chance(0.05)) {
      const task = state.tasks.all.get(id);
      return task === undefined || task.n % 2 === 0
        ? id.slice(id.lastIndexOf("-") + 1)
        : `#${numberOf(task)}`;
    }
    return random.chance(0.8) ? id : id.slice(0, random.int(3, id.length));
  }

  #labels(): readonly string[] {
    return this.#random.chance(0.6) ? [] : [this.#random.pick(labels)];
  }
}

/** Tasks as they were before an entry about them: states are values, so that a copy of each task is enough. */
export type TasksBefore = ReadonlyMap<string, Task>;

export function tasksBefore(state: State, { command }: Entry): TasksBefore {
  if (!command.type.startsWith("task_")) return new Map();
  return new Map([...state.tasks.all].map(([id, task]) => [id, { ...task }]));
}

function* wrongsOfTasks(state: State): Generator<string, void> {
  const { all } = state.tasks;
  const numbered = new Map<string, string>();
  for (const task of all.values()) {
    const named = `#${numberOf(task)} of ${task.project}`;
    const other = numbered.get(named);
    if (other !== undefined) yield `${other} and ${task.id} are both ${named}`;
    numbered.set(named, task.id);
    if (task.state.status !== "active") continue;
    for (const id of task.dependsOn) {
      if (all.get(id)?.state.status !== "done") yield `${task.id} is active before ${id} is done`;
    }
    const { claimer } = task.state;
    const lives = claimer === null ? null : state.sessions.live.get(claimer.session);
    if (lives !== null && !lives?.incarnations.some(i => i.ordinal === claimer?.incarnation))
      yield `${task.id} is claimed by ${claimer?.session}, who is gone`;
  }
  yield* cycles(all);
}

/** What can be put away is put away; what is left goes in cycles. */
function* cycles(all: ReadonlyMap<string, Task>): Generator<string, void> {
  const left = new Map([...all].map(([id, { dependsOn }]) => [id, new Set(dependsOn)]));
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const [id, needs] of left) {
      for (const other of needs) if (!left.has(other)) needs.delete(other);
      if (needs.size === 0) left.delete(id);
    }
  }
  if (left.size > 0) yield `a cycle is among ${[...left.keys()].join(", ")}`;
}

const ranks = { high: 0, normal: 1, low: 2 };

/** A claim takes what was nobody's, and the best of that where it did not say which. */
function* wrongClaim(
  before: TasksBefore,
  command: Command & { readonly type: "task_claim" },
  reply: Reply,
  roles: RolesBefore,
): Generator<string, void> {
  const { actor, project, labels: wanted } = command;
  const ready = [...before.values()]
    .filter(t => t.state.status === "pending" && t.project === project)
    .filter(t => t.dependsOn.every(id => before.get(id)?.state.status === "done"))
    .filter(t => wanted.every(label => t.labels.includes(label)))
    .filter(t => couldRun(roles, actor, t, before))
    .sort((a, b) => ranks[a.priority] - ranks[b.priority] || a.n - b.n);
  const got = idIn(reply);
  const was = got === null ? undefined : before.get(got)?.state;
  if (was?.status === "active") {
    const { claimer } = was;
    const isTheirs = JSON.stringify(claimer) === JSON.stringify(actor);
    if (claimer !== null && !isTheirs)
      yield `${got} was claimed by ${claimer.session} and then by ${actor.session}`;
  }
  const best = ready[0]?.id ?? null;
  const isRefused = !reply.ok && reply.code !== "no_ready_task";
  if (command.task === null && !isRefused && best !== got)
    yield `${got} was claimed where ${best} was the best`;
}

/** A name means one task, or none: a whole id means that of any project, anything shorter one of the project. */
function* wrongName(
  before: TasksBefore,
  name: string,
  project: string | null,
  reply: Reply,
): Generator<string, void> {
  const fits = (task: Task) => {
    if (name.startsWith("#")) return name === `#${numberOf(task)}`;
    return name.includes("-") ? task.id.startsWith(name) : task.id.endsWith(`-${name}`);
  };
  const own = [...before.values()].filter(task => task.project === project);
  const matches = before.has(name) ? [name] : own.filter(fits).map(({ id }) => id);
  const [only = null] = matches;
  const got = idIn(reply);
  if (got !== null && (matches.length !== 1 || got !== only))
    yield `${name} was taken for ${got}, of ${matches.length} that it could be`;
  if (
    matches.length === 1 &&
    !reply.ok &&
    ["unknown_task", "ambiguous_task"].includes(reply.code) &&
    !("blocked" in reply)
  )
    if (reply["task"] === name) yield `${name} is ${only}, and was not found`;
}

function idIn(reply: Reply): string | null {
  const task = reply.ok ? reply["task"] : null;
  return typeof task === "object" && task !== null && "id" in task ? String(task.id) : null;
}
