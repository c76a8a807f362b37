/**
 * Shares projects through the store, and takes them back.
 *
 * Invariants: whatever moves is in one of the two logs at each moment, and each step may run again. A share copies into the
 * store what this log has, and `project_moved` removes it here. A leave copies it back, and `project_left` ends the sharing. So a share
 * that broke off goes on whenever the store is open, and a leave that broke off is undone. What the store has already stays
 * as it is there, but for what changed here alone since this machine left. One move is under way at a time.
 */
import { createHash } from "node:crypto";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type CopyNotes,
  type CopyRow,
  type LeftOutField,
  storeRowsMax,
  type UnmovedRow,
} from "../../protocol/schemas/store.ts";
import { type Actor, sameActor } from "../core/frame/actors.ts";
import { contextAt } from "../core/messages/context.ts";
import {
  type Bases,
  durableValuesIn,
  openTasksIn,
  type Sharing,
  sharedProjects,
  sharingOf,
} from "../core/sharing.ts";
import { type ContextItem, sizeOf } from "../core/tables/context.ts";
import type { Command, Reply } from "../core/tables/entries.ts";
import {
  claimerOf,
  listOf,
  numberOf,
  resultOf,
  type Task,
  type TaskUpdate,
  taskAt,
  taskOf,
} from "../core/tables/tasks.ts";
import { noRoom } from "../core/tasks/create.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { LogView } from "../engine/log-view.ts";
import { becameOf, goneText, letterTo } from "../sessions/claim-watch.ts";
import { SharedProject } from "./project.ts";
import { idInCopy, type Names, ownIdOf } from "./rows.ts";
import type { SharedLog } from "./shared-log.ts";
import type { Store } from "./store.ts";

/** What a move of one project, or of all, came to. */
export type Moved = Pick<CopyRow, "tasks" | "context"> & CopyNotes;

type Left = Moved & { readonly unread: number; readonly isTold: boolean };

export interface MovesParts {
  readonly own: Engine;
  readonly log: SharedLog;
  readonly store: Store;
  readonly clock: Clock;
  /** Hears what Kite moved by itself, since a move had broken off. */
  readonly onMoved: (sharing: { readonly project: string; readonly as: string }, moved: Moved) => void;
  /** Hears that a try, or a person's command, has ended. */
  readonly onEnded: () => void;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** One of the two logs of a project, which calls it so. */
interface Place {
  readonly log: Pick<LogView, "state" | "now">;
  readonly project: string;
  submit(command: Command): Promise<Reply>;
}

/** A log refused a step. What was done before stays, and the same move may run again. */
class MoveRefused extends Error {
  override readonly name = "MoveRefused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.error);
    this.refusal = refusal;
  }
}

export class Moves {
  readonly #parts: MovesParts;
  /** A person's command is under way. */
  #isPersons = false;
  /** A try of the daemon is under way; null: none is. */
  #trying: Promise<void> | null = null;
  /** Why the daemon's last try failed; null: it did not. */
  #problem: string | null = null;
  #undoneMs: number | null = null;
  #pauseMs: number = limits.storeReopenMs;
  #cancel: () => void = () => {};
  #isOver = false;
  /** Who waits until something was reached. */
  readonly #waiting = new Set<() => void>();

  constructor(parts: MovesParts) {
    this.#parts = parts;
  }

  /** What is left here of shared projects; null: nothing. */
  get unmoved(): UnmovedRow | null {
    const rows = this.#unmoved().map(({ project, as }) => ({ as, ...this.wouldShare(project) }));
    const left = rows.filter(({ tasks, context }) => tasks + context > 0);
    if (left.length === 0) return null;
    return {
      projects: [...new Set(left.map(({ as }) => as))].slice(0, storeRowsMax),
      tasks: left.reduce((sum, { tasks }) => sum + tasks, 0),
      context: left.reduce((sum, { context }) => sum + context, 0),
      why: this.#problem,
    };
  }

  /** Wall time in milliseconds of the last leave that was undone since it had broken off; null: none was. */
  get leaveUndoneMs(): number | null {
    return this.#undoneMs;
  }

  /** What a share of the project would move. */
  wouldShare(project: string): Pick<Moved, "tasks" | "context"> {
    const here = this.#own(project);
    return { tasks: tasksIn(here).length, context: valuesIn(here).length };
  }

  /** Shares the project, or goes on with a share that broke off. If the store has no room, nothing is changed. */
  share(project: string, as: string): Promise<Moved | Refusal> {
    return this.#asPerson(async () => {
      const { own, store } = this.#parts;
      await this.#opened();
      const known = sharingOf(own.state, project);
      if (known === undefined) await this.#mayShare(project, as);
      if (known?.is !== "moving" || known.as !== as) {
        const through = { id: store.id ?? "", where: store.where };
        await enter(this.#own(project), { type: "project_share", project, as, store: through });
      }
      const [row] = this.#rows("moving").filter(one => one.project === project);
      if (row === undefined) throw new Error(`${project} is not being moved`);
      return this.#move(row);
    });
  }

  /**
   * Takes all projects back. `isAway`: with what the copies have, if the store does not answer. From a copy that was never read
   * nothing comes back: a store that is gone for good keeps nobody.
   */
  leave(isAway: boolean): Promise<Left | Refusal> {
    return this.#asPerson(async () => {
      const { own, log } = this.#parts;
      if (!isAway) await this.#opened();
      if (!isAway) await this.#moveAll();
      // What is here alone stays here, also if the leave breaks off.
      for (const row of this.#unmoved()) await this.#begin(row);
      const rows = [...sharedProjects(own.state)];
      if (!isAway) for (const { project } of rows) await this.#read(project);
      const shared = [...log.projects()];
      const all = await this.#takeAllBack(rows, isAway);
      // The log has told of the ends by then.
      await own.outputReleased();
      const isTold = await this.#tellStore(shared);
      const sum = (count: (one: (typeof all)[number]) => number) => all.reduce((n, one) => n + count(one), 0);
      const numbers = all.flatMap(one => one.numbers);
      return {
        ...{ tasks: sum(one => one.tasks), context: sum(one => one.context), unread: sum(one => one.unread) },
        ...{
          numbers,
          keys: all.flatMap(({ keys }) => keys),
          released: [],
          leftOut: [],
          returns: [],
          stays: [],
          isTold,
        },
      };
    });
  }

  /** Goes on with what broke off: at the start, and whenever a project is reached. */
  goOn(): void {
    for (const wake of this.#waiting) wake();
    if (this.#isPersons || this.#trying !== null) return;
    this.#pauseMs = limits.storeReopenMs;
    this.#tryNow();
  }

  close(): void {
    this.#isOver = true;
    this.#cancel();
    for (const wake of this.#waiting) wake();
  }

  #rows(is: Sharing["is"]): readonly Sharing[] {
    return [...sharedProjects(this.#parts.own.state)].filter(row => row.is === is);
  }

  /** Returns the projects of which something may be here: a share broke off, or no store was set for a while. */
  #unmoved(): readonly Sharing[] {
    return [...sharedProjects(this.#parts.own.state)].filter(({ project, is }) => {
      if (is !== "shared") return is === "moving";
      const { tasks, context } = this.wouldShare(project);
      return tasks + context > 0;
    });
  }

  /** The second of two persons' commands is refused, since it may undo the first. */
  async #asPerson<Result>(work: () => Promise<Result>): Promise<Result | Refusal> {
    if (this.#isPersons) return underWay;
    this.#isPersons = true;
    this.#cancel();
    try {
      await this.#trying;
      return await work();
    } catch (error) {
      if (!(error instanceof MoveRefused)) throw error;
      return error.refusal;
    } finally {
      this.#isPersons = false;
      this.#pauseMs = limits.storeReopenMs;
      this.#tryLater();
      this.#parts.onEnded();
    }
  }

  /** Whether something broke off that can go on now. A leave is undone without the store. */
  get #canTry(): boolean {
    if (this.#isOver) return false;
    const isOpen = this.#parts.store.refusal === null;
    return this.#rows("leaving").length > 0 || (isOpen && this.#unmoved().length > 0);
  }

  #tryNow(): void {
    this.#cancel();
    if (!this.#canTry) return;
    this.#trying = this.#try().finally(() => {
      this.#trying = null;
      if (!this.#isPersons) this.#tryLater();
      this.#pauseMs = Math.min(2 * this.#pauseMs, limits.storeMovePauseMs);
      this.#parts.onEnded();
    });
  }

  #tryLater(): void {
    const { clock } = this.#parts;
    this.#cancel();
    if (this.#canTry) this.#cancel = clock.at(clock.now() + this.#pauseMs, () => this.#tryNow());
  }

  /** Never rejects. */
  async #try(): Promise<void> {
    try {
      await this.#undoLeaves();
      if (this.#parts.store.refusal === null) await this.#moveAll();
      this.#problem = null;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#problem) this.#parts.onTrouble("a move to the store broke off", error);
      this.#problem = problem;
    }
  }

  /** This machine is in the store still: what a leave copied goes. */
  async #undoLeaves(): Promise<void> {
    for (const { project } of this.#rows("leaving")) {
      await enter(this.#own(project), { type: "project_moved", project });
      this.#undoneMs = this.#parts.clock.wall();
    }
  }

  /** Finishes all shares that broke off. Rejects, when each was tried, with the last refusal. */
  async #moveAll(): Promise<void> {
    let problem: unknown = null;
    for (const row of this.#unmoved()) {
      try {
        this.#parts.onMoved(row, await this.#move(row));
      } catch (error) {
        problem = error;
      }
    }
    if (problem !== null) throw problem;
  }

  /** Moves what the own log still has of a shared project. */
  async #move(row: Sharing): Promise<Moved> {
    try {
      await this.#begin(row);
      return await this.#moveRest(row);
    } catch (error) {
      if (!(error instanceof MoveRefused)) throw error;
      const so = `${row.project} is shared as ${row.as}, and not all that it had is in the store yet: Kite goes on moving it by itself, and now with: kite store share`;
      throw new MoveRefused({ ...error.refusal, error: `${so}. ${error.message}` });
    }
  }

  /** Begins to move what was made here while no store was set. */
  async #begin({ project, as, store, is }: Sharing): Promise<void> {
    if (is === "shared") await enter(this.#own(project), { type: "project_share", project, as, store });
  }

  /** Resolves when the condition holds, or after that time; `goOn` and the clock look at it. */
  async #until(isSo: () => boolean, ms: number): Promise<void> {
    const { clock } = this.#parts;
    const end = clock.now() + ms;
    while (!isSo() && clock.now() < end && !this.#isOver) {
      await new Promise<void>(resolve => {
        const cancel = clock.at(Math.min(end, clock.now() + limits.storeLookMs), () => wake());
        const wake = () => {
          cancel();
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  async #opened(): Promise<void> {
    const { store } = this.#parts;
    const isLasting = () => store.condition.is === "unfit" || store.condition.is === "closed";
    await this.#until(() => store.refusal === null || isLasting(), limits.storeOpenMs);
    if (store.refusal !== null) throw new MoveRefused(store.refusal);
  }

  /** Resolves when the copy has what the store has now, with all that was asked before. */
  async #read(local: string): Promise<SharedProject> {
    const { log } = this.#parts;
    await this.#until(() => (log.projectAt(local)?.asOfMs ?? 0) > 0, limits.storeShareMs);
    const project = log.projectAt(local);
    if (project === undefined) throw new MoveRefused(notRead(local));
    const { reply } = await project.submit(look(local));
    if (!reply.ok) throw new MoveRefused(reply);
    return project;
  }

  /** Refuses a share for which the store has no room, or other tasks under the same ids. */
  async #mayShare(project: string, as: string): Promise<void> {
    const { log, store } = this.#parts;
    // Another look would end the sessions of a clone that shares it.
    const clone = [...log.projects()].find(({ name }) => name === as);
    if (clone !== undefined) return refuseFull(this.#own(project), this.#copy(await this.#read(clone.local)));
    let isRead = false;
    const fresh = new SharedProject({
      ...{ store, name: as, local: project, path: null, present: () => [], onEvents: () => {} },
      onReached: () => {
        isRead = true;
        this.goOn();
      },
    });
    store.add(fresh);
    try {
      await this.#until(() => isRead, limits.storeShareMs);
      if (!isRead) throw new MoveRefused(store.refusal ?? notRead(as));
      refuseFull(this.#own(project), { log: { state: fresh.state, now: 0 }, project });
    } finally {
      store.remove(fresh);
    }
  }

  #own(project: string): Place {
    const { own } = this.#parts;
    return { log: own, project, submit: command => own.submitAndWait(command) };
  }

  #copy(shared: SharedProject): Place {
    const log = this.#parts.log.logOf(shared.local);
    return { log, project: shared.local, submit: async command => (await shared.submit(command)).reply };
  }

  async #moveRest({ project, bases }: Sharing): Promise<Moved> {
    const shared = await this.#read(project);
    const [here, there] = [this.#own(project), this.#copy(shared)];
    const known = new Map(bases.tasks.map(([id, ...digests]) => [id, digests]));
    const [tasks, ended] = [tasksIn(here), doneIn(here)];
    refuseOthers(tasks, there);
    const gone = tasks.filter(({ id }) => known.has(id) && !there.log.state.tasks.all.has(id));
    const actorIn = (actor: Actor) => ({ ...actor, session: idInCopy(actor.session, shared.names) });
    // A task that is copied may depend on one that was done here meanwhile.
    const leftOut = await bringAll(ended, known, here, there);
    const imported = await importTasks(tasks, here, there, actorIn);
    leftOut.push(...(await bringAll(tasks, known, here, there)));
    for (const task of tasks) {
      const isNewer = (there.log.state.tasks.all.get(task.id)?.updatedAt ?? 0) > task.updatedAt;
      if (known.has(task.id) || !isNewer) await claim(task, there, actorIn);
    }
    const { store } = this.#parts;
    const { keys, returns } = await bringValues(here, there, { bases: bases.keys, aside: store.machine });
    const numbers = renumbered(tasks, there);
    const stays = removedHere(bases, here, there);
    const lost = new Map(tasks.filter(task => isLost(task, there, actorIn)).map(task => [task.id, task]));
    const context = valuesIn(here).length;
    const again = gone.flatMap(({ id }) => {
      const task = there.log.state.tasks.all.get(id);
      return task === undefined ? [] : [{ task: id, number: numberOf(task) }];
    });
    const kept = numbers.filter(({ task }) => !lost.has(task));
    await Promise.all([this.#tell(kept, shareTold), this.#tellLost(lost, there)]);
    await enter(here, { type: "project_moved", project });
    return {
      ...{ tasks: imported, context, numbers, keys, leftOut },
      ...{ released: [...lost.keys()], returns: [...again, ...returns], stays },
    };
  }

  /** Copies all projects back, and ends their sharing, or undoes what it did. The first of several clones of one name gets it. */
  async #takeAllBack(rows: readonly Sharing[], isAway: boolean) {
    const firsts = new Map([...rows].reverse().map(row => [row.as, row]));
    try {
      for (const { project, is } of rows)
        if (is === "shared") await enter(this.#own(project), { type: "project_leave", project });
      // What agents asked before, also those of other clones, is in the copies of the first ones then.
      if (!isAway) for (const { project } of [...rows].reverse()) await this.#read(project);
      const all = [];
      for (const row of firsts.values()) all.push(await this.#takeBack(row, isAway));
      const bases = new Map(all.map(one => [one.project, one.bases]));
      const ends = rows.map(({ project, bases: known }) =>
        enter(this.#own(project), { type: "project_left", project, bases: bases.get(project) ?? known }),
      );
      // In one batch of the log: an agent hears of its numbers if they count, also if the daemon is killed.
      const told = this.#tell(
        all.flatMap(({ numbers }) => numbers),
        leaveTold,
      );
      await Promise.all([...ends, told]);
      return all.map(one =>
        all.length === 1 ? one : { ...one, numbers: one.numbers.map(row => ({ ...row, project: one.as })) },
      );
    } catch (error) {
      await this.#undoLeaves();
      throw error;
    }
  }

  /** Copies a project back. What a share that broke off left here stays as it is: it goes on by how it was before. */
  async #takeBack({ project, as, is, bases }: Sharing, isAway: boolean) {
    const shared = this.#parts.log.projectAt(project);
    if (shared === undefined) throw new MoveRefused(notRead(as));
    const [here, there] = [this.#own(project), this.#copy(shared)];
    // The copy goes on, and changes its rows.
    const tasks = tasksIn(there).map(task => ({ ...task }));
    const values = valuesIn(there);
    refuseOthers(tasks, here);
    const actorIn = (actor: Actor) => {
      const session = ownIdOf(actor.session, shared.names);
      return session === null ? null : { ...actor, session };
    };
    await importTasks(tasks, there, here, actorIn);
    // Others opened anew what was done here.
    for (const task of is === "moving" ? [] : tasks) {
      const mine = here.log.state.tasks.all.get(task.id);
      if (mine?.state.status !== "done") continue;
      const refusal = await change(task, mine, there, here);
      if (refusal !== null) throw new MoveRefused(refusal);
      await claim(task, here, actorIn);
    }
    const { keys } = await bringValues(there, here, { bases: [], aside: "store" });
    const unread = await takeLetters(there, here, shared.names, isAway);
    const ended = doneIn(here).flatMap(({ id }) => there.log.state.tasks.all.get(id) ?? []);
    const kept = values.filter(({ key }) => !keys.some(one => one.key === key));
    return {
      ...{ project, as, tasks: tasks.length, context: values.length, keys, unread },
      numbers: renumbered(tasks, here),
      bases: basesOf(here, [...tasks, ...ended], kept, bases),
    };
  }

  /** Returns whether the store knows that this machine left. */
  async #tellStore(shared: readonly SharedProject[]): Promise<boolean> {
    // An answer means that the sessions of this machine are gone from the project.
    const replies = await Promise.all(shared.map(one => one.submit(look(one.local))));
    return this.#parts.store.close({ leaves: replies.every(({ reply }) => reply.ok) });
  }

  /** Tells agents of the numbers that their tasks get, or got. */
  #tell(
    numbers: Moved["numbers"],
    { why, by }: { readonly why: string; readonly by: string },
  ): Promise<unknown> {
    const { tasks } = this.#parts.own.state;
    const letters = numbers.map(({ task: id, before, after }) => {
      const task = taskOf(tasks, id);
      const named = `task #${before} ${JSON.stringify(task.description.slice(0, limits.quoteChars))}`;
      const text = `Kite: ${named} of yours is #${after} now: this project ${why}. Use #${after} from now on.`;
      return this.#write(task, text, by);
    });
    return Promise.all(letters);
  }

  /** Tells agents of claims of the own log that the store does not have. */
  #tellLost(tasks: ReadonlyMap<string, Task>, { log: { state } }: Place): Promise<unknown> {
    const letters = [...tasks.values()].map(task => {
      const theirs = taskOf(state.tasks, task.id);
      const became = `${becameOf(theirs, assigneeOf(state, theirs)?.name ?? null)} in the store that this project is shared through now`;
      // People and agents speak of it by the number that it has there.
      return this.#write(task, goneText({ ...task, number: numberOf(theirs) }, became), "share: claims");
    });
    return Promise.all(letters);
  }

  /** Writes to the agent that works on a task, at once. What moves does not wait for a log that has no room for it. */
  async #write(task: Task, text: string, by: string): Promise<void> {
    const { own, clock } = this.#parts;
    const claimer = claimerOf(task);
    // Each copy of a task has a place of its own in the order of all.
    const retry = { by, requestId: `${task.id} ${task.n}`, digest: "" };
    const letter = claimer === null ? null : letterTo(own.state, claimer, { text, at: clock.wall(), retry });
    if (letter !== null) await own.submitAndWait(letter);
  }
}

const shareTold = { why: "is shared with other machines now", by: "share: numbers" };
const leaveTold = { why: "is no longer shared with other machines", by: "leave: numbers" };

function tasksIn({ log: { state }, project }: Place): Task[] {
  return openTasksIn(state, project);
}

function doneIn({ log: { state }, project }: Place): Task[] {
  const done = [...listOf(state.tasks, "done", project)].map(place => taskAt(state.tasks, place));
  return done.sort((a, b) => a.n - b.n);
}

function valuesIn({ log: { state, now }, project }: Place): ContextItem[] {
  return durableValuesIn(state, project, now);
}

/** A command that changes nothing: its answer is of the present. */
function look(project: string): Command {
  return { type: "context_read", project, key: "" };
}

/** Whether the log has the task itself, and not another one that got the same id by chance. */
function isTwin(task: Task | undefined, { log, project }: Pick<Place, "log" | "project">): boolean {
  const found = task && log.state.tasks.all.get(task.id);
  return found !== undefined && found.project === project && found.createdAt === task?.createdAt;
}

function refuseOthers(tasks: readonly Task[], to: Pick<Place, "log" | "project">): void {
  const other = tasks.find(task => to.log.state.tasks.all.has(task.id) && !isTwin(task, to));
  if (other !== undefined) throw new MoveRefused(takenId(other));
}

function refuseFull(from: Place, to: Pick<Place, "log" | "project">): void {
  const { project, log } = to;
  const { tasks, context, limits: bounds } = log.state;
  const [all, values] = [tasksIn(from), valuesIn(from)];
  refuseOthers(all, to);
  const fresh = all.filter(({ id }) => !tasks.all.has(id)).map(task => ({ ...task, project }));
  const room = noRoom(tasks, fresh);
  if (room !== null) throw new MoveRefused(room);
  const keys = context.items.size - context.verdicts + values.length;
  const bytes = values.reduce((sum, item) => sum + sizeOf({ ...item, project }), context.bytes);
  if (keys <= bounds.contextKeysMax && bytes <= bounds.contextBytes) return;
  const most = `${bounds.contextBytes} bytes and ${bounds.contextKeysMax} keys`;
  const error = `all projects there together may have ${most} of context; delete what is not needed`;
  throw new MoveRefused(refuse("context_full", error));
}

/**
 * Copies the tasks that the other log does not have, under their ids, each with its claim. `actorIn` says who an actor is there,
 * null: nobody. A task whose claimer does not live there becomes pending; dependencies on tasks that are not there go.
 */
async function importTasks(
  tasks: readonly Task[],
  from: Place,
  to: Place,
  actorIn: (actor: Actor) => Actor | null,
): Promise<number> {
  const ids = new Set(tasks.map(({ id }) => id));
  const isThere = (id: string) => ids.has(id) || isTwin(from.log.state.tasks.all.get(id), to);
  const missing = dependenciesFirst(tasks.filter(({ id }) => !to.log.state.tasks.all.has(id)));
  for (let at = 0; at < missing.length; at += importMax) {
    const some = missing.slice(at, at + importMax);
    const copies = some.map(({ n: _n, createdBy: _by, number: _number, ...task }) => {
      const claimer = claimerOf(task as Task);
      const there = claimer && actorIn(claimer);
      const claimed = there === null ? pending : { status: "active" as const, claimer: there };
      const state = claimer === null ? task.state : claimed;
      return { ...task, project: to.project, dependsOn: task.dependsOn.filter(isThere), state };
    });
    await enter(to, { type: "task_import", by: null, tasks: copies });
  }
  return missing.length;
}

const pending = { status: "pending" } as const;

/** Tasks of one entry. One may have 100 kB with its result, and an entry `limits.recordBytes`. */
const importMax = 32;

/** Returns the tasks so that each comes after those that it depends on. */
function dependenciesFirst(tasks: readonly Task[]): readonly Task[] {
  const byId = new Map(tasks.map(task => [task.id, task]));
  const ordered = new Set<Task>();
  const isMissing = (task: Task | undefined): task is Task => task !== undefined && !ordered.has(task);
  for (const first of tasks) {
    // A chain of dependencies may be longer than the stack of calls.
    const path = [first];
    for (let task = path.at(-1); task !== undefined; task = path.at(-1)) {
      const need = isMissing(task) ? task.dependsOn.map(id => byId.get(id)).find(isMissing) : undefined;
      if (need !== undefined) path.push(need);
      else ordered.add(path.pop() ?? task);
    }
  }
  return [...ordered];
}

/** What people and agents change of a task, as texts that can be compared. Whether it is claimed, its claim says. */
function fieldsOf({ description, priority, labels, dependsOn, risk = "green", state }: Task) {
  const status = state.status === "active" ? "pending" : state.status;
  const [sorted, needs] = [[...labels].sort(), [...dependsOn].sort()].map(one => JSON.stringify(one));
  return { description, priority, labels: sorted, needs, risk, status, result: resultOf(state) };
}

function differences(a: Task, b: Task): readonly LeftOutField[] {
  const [one, other] = [fieldsOf(a), fieldsOf(b)];
  return (Object.keys(one) as LeftOutField[]).filter(field => one[field] !== other[field]);
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}

/** Tasks and values of one project whose bases are kept, and the bytes of each list in its entry. */
const basesMax = 20_000;
const basesBytes = limits.recordBytes / 4;

/** Returns how tasks and values of the store are, and how the tasks are here. `known`: from before a share that broke off. */
function basesOf(
  { log }: Place,
  tasks: readonly Task[],
  values: readonly ContextItem[],
  known: Bases,
): Bases {
  const fresh = tasks.slice(0, basesMax).map(task => {
    const mine = log.state.tasks.all.get(task.id) ?? task;
    const digest = digestOf(fieldsOf(mine));
    const isSame = differences(mine, task).length === 0;
    return isSame ? ([task.id, digest] as const) : ([task.id, digest, digestOf(fieldsOf(task))] as const);
  });
  const keys = values.map(({ key, value }) => [key, digestOf(value)] as const);
  return { tasks: bounded([...known.tasks, ...fresh]), keys: bounded([...known.keys, ...keys]) };
}

/** Returns the first row of each name, as many as have room in an entry. */
function bounded<Row extends readonly [string, ...unknown[]]>(rows: readonly Row[]): Row[] {
  const first = new Map<string, Row>();
  for (const row of rows) if (!first.has(row[0])) first.set(row[0], row);
  let bytes = 0;
  return [...first.values()].slice(0, basesMax).filter(row => {
    bytes += Buffer.byteLength(JSON.stringify(row));
    return bytes <= basesBytes;
  });
}

/** Brings what changed here of tasks that the store has, too. Returns what the store has otherwise, since it changed there as well. */
async function bringAll(
  tasks: readonly Task[],
  bases: ReadonlyMap<string, readonly [here: string, there?: string]>,
  here: Place,
  there: Place,
): Promise<Moved["leftOut"][number][]> {
  const rows: Moved["leftOut"][number][] = [];
  for (const task of dependenciesFirst(tasks.filter(one => isTwin(one, there)))) {
    const theirs = there.log.state.tasks.all.get(task.id);
    const [base, baseThere = base] = bases.get(task.id) ?? [];
    if (theirs === undefined) continue;
    const isUnchanged =
      base === undefined ? task.updatedAt <= theirs.updatedAt : base === digestOf(fieldsOf(task));
    if (isUnchanged) continue;
    // A change that broke off between its two commands left it so.
    const begun = digestOf(fieldsOf({ ...merged(task, theirs, here, there), state: pending }));
    if (base !== undefined && [baseThere, begun].includes(digestOf(fieldsOf(theirs))))
      await change(task, theirs, here, there);
    const now = there.log.state.tasks.all.get(task.id);
    const fields = now === undefined ? [] : differences(merged(task, now, here, there), now);
    if (now !== undefined && fields.length > 0) rows.push({ task: task.id, number: numberOf(now), fields });
  }
  return rows;
}

/** Returns the task with the dependencies that it gets there: those that are not here stay as they are there. */
function merged(task: Task, theirs: Task, here: Place, there: Place): Task {
  if (task.state.status === "done") return { ...task, dependsOn: theirs.dependsOn };
  const kept = theirs.dependsOn.filter(id => !here.log.state.tasks.all.has(id));
  const own = task.dependsOn.filter(id => isTwin(here.log.state.tasks.all.get(id), there));
  return { ...task, dependsOn: [...new Set([...kept, ...own])] };
}

/** Makes a task there as it is here, but for claims, and for the status if somebody works on it there. Returns why not, or null. */
async function change(task: Task, theirs: Task, here: Place, there: Place): Promise<Refusal | null> {
  const command = { type: "task_update", by: null, task: task.id, project: there.project, cwd: "" } as const;
  const wallMs = Math.max(task.updatedAt, theirs.updatedAt);
  for (const one of changesOf(merged(task, theirs, here, there), theirs)) {
    const reply = await there.submit({ ...command, ...one, wallMs });
    if (!reply.ok && isAway(reply.code)) throw new MoveRefused(reply);
    if (!reply.ok) return reply;
  }
  return null;
}

type Change = Omit<TaskUpdate, "by" | "task" | "debate" | "project" | "cwd" | "wallMs" | "retry">;

const unchanged = { description: null, priority: null, labels: null, dependsOn: null } as const;

function changesOf(mine: Task, theirs: Task): readonly Change[] {
  const { description, priority, labels, risk = "green" } = mine;
  const dependsOn = mine.dependsOn.length > limits.taskDependenciesMax ? null : mine.dependsOn;
  const [text, result] = [{ description, priority, labels, dependsOn, risk }, resultOf(mine.state)];
  const [to, from] = [mine, theirs].map(task => fieldsOf(task).status);
  if (theirs.state.status === "active") return [{ ...text, status: null, result: null }];
  if (to === from) return [{ ...text, status: null, result }];
  const reopened = { ...text, status: "pending", result: null } as const;
  if (to === "pending") return [reopened];
  const { status } = mine.state;
  return from === "pending" ? [{ ...text, status, result }] : [reopened, { ...unchanged, status, result }];
}

/** Claims there what somebody works on here, and nobody there. */
async function claim(task: Task, there: Place, actorIn: (actor: Actor) => Actor | null): Promise<void> {
  const theirs = there.log.state.tasks.all.get(task.id);
  if (task.state.status !== "active" || theirs?.state.status !== "pending") return;
  const { claimer } = task.state;
  const actor = claimer && actorIn(claimer);
  if (claimer !== null && (actor === null || !there.log.state.sessions.live.has(actor.session))) return;
  const wallMs = Math.max(task.updatedAt, theirs.updatedAt);
  const about = { task: task.id, project: there.project, cwd: "", wallMs };
  const reply = await there.submit(
    actor === null
      ? { type: "task_update", by: null, ...unchanged, status: "active", result: null, ...about }
      : { type: "task_claim", actor, labels: [], ...about },
  );
  if (!reply.ok && isAway(reply.code)) throw new MoveRefused(reply);
}

/** Whether an agent works on it here, and neither works on it there, nor did it. */
function isLost(task: Task, { log: { state } }: Place, actorIn: (actor: Actor) => Actor): boolean {
  const claimer = claimerOf(task);
  const theirs = state.tasks.all.get(task.id);
  if (claimer === null || theirs === undefined) return false;
  const [meant, now] = [actorIn(claimer), claimerOf(theirs)];
  const by = theirs.state.status === "done" ? theirs.state.by : null;
  if (by !== null) return by.id !== meant.session || by.agent !== meant.agent;
  return now === null || !sameActor(now, meant);
}

function renumbered(tasks: readonly Task[], to: Place): Moved["numbers"] {
  return tasks.flatMap(task => {
    const there = to.log.state.tasks.all.get(task.id);
    const [before, after] = [numberOf(task), numberOf(there ?? task)];
    return before === after ? [] : [{ task: task.id, before, after }];
  });
}

/** Returns what the bases know, this log has no more, and the other one still has: nobody takes it from there unasked. */
function removedHere({ tasks, keys }: Bases, from: Place, to: Place): Moved["stays"] {
  const isKept = (key: string, { log, project }: Place) =>
    contextAt(log.state, project, key, log.now)?.durable;
  return [
    ...tasks.flatMap(([id]) => {
      const task = to.log.state.tasks.all.get(id);
      const isOpen = task !== undefined && task.state.status !== "done";
      return isOpen && !from.log.state.tasks.all.has(id) ? [{ task: id, number: numberOf(task) }] : [];
    }),
    ...keys.flatMap(([key]) => (isKept(key, to) && !isKept(key, from) ? [{ key }] : [])),
  ];
}

/** Copies the values. The one that the other log has stays, unless its base says that it changed on the other side alone. */
async function bringValues(
  from: Place,
  to: Place,
  { bases, aside }: { readonly bases: Bases["keys"]; readonly aside: string },
): Promise<{ readonly keys: Moved["keys"]; readonly returns: readonly { readonly key: string }[] }> {
  const known = new Map(bases);
  const keys: Moved["keys"][number][] = [];
  const returns: { readonly key: string }[] = [];
  await eachOf(valuesIn(from), async item => {
    const base = known.get(item.key);
    const theirs = contextAt(to.log.state, to.project, item.key, to.log.now);
    if (theirs === undefined && base !== undefined) returns.push({ key: item.key });
    if (theirs !== undefined && base === digestOf(item.value)) return;
    const isMine = theirs !== undefined && base === digestOf(theirs.value);
    const ttlMs = item.endsAt === null ? null : Math.max(1, item.endsAt - from.log.now);
    const as = await putValue({ ...item, ttlMs, ifVersion: isMine ? theirs.version : 0 }, to, aside);
    if (as !== item.key) keys.push({ key: item.key, as });
  });
  return { keys, returns };
}

type NewValue = ContextItem & { readonly ttlMs: number | null; readonly ifVersion: number };

/** Returns the first of its keys under which the value is there now. */
async function putValue(item: NewValue, to: Place, aside: string): Promise<string> {
  const { value, bytes, ttlMs, at: wallMs } = item;
  const { project } = to;
  for (const key of keysFor(item.key, aside)) {
    const reply = await to.submit({
      ...{ type: "context_set", actor: null, project, key, value, bytes, durable: true, ttlMs, wallMs },
      ifVersion: key === item.key ? item.ifVersion : 0,
    });
    if (reply.ok) return key;
    if (reply.code !== "context_conflict") throw new MoveRefused(reply);
    const theirs = contextAt(to.log.state, project, key, to.log.now);
    if (theirs !== undefined && digestOf(theirs.value) === digestOf(value)) return key;
  }
  const [, first = ""] = keysFor(item.key, aside);
  const error = `${first} and all like it are taken; a person deletes those that nobody needs: kite context rm KEY`;
  throw new MoveRefused(refuse("context_full", error));
}

const asideMax = 20;

/** Yields the keys to try: `KEY`, `KEY@ASIDE`, `KEY@ASIDE-2`..., with a long key cut. */
function* keysFor(key: string, aside: string): Generator<string, void> {
  yield key;
  for (let n = 1; n <= asideMax; n += 1) {
    const end = `@${aside}${n === 1 ? "" : `-${n}`}`;
    const chars = [...key];
    while (Buffer.byteLength(chars.join("") + end) > limits.idBytes) chars.pop();
    yield chars.join("") + end;
  }
}

/**
 * Takes the messages along that agents of this machine have not read, and returns how many letters came. In the store they
 * are read then, so their senders do not hear that they reached nobody.
 */
async function takeLetters(from: Place, to: Place, names: Names, isAway: boolean): Promise<number> {
  let count = 0;
  const ownRow = <Row extends { readonly id: string }>(row: Row): Row => ({
    ...row,
    id: ownIdOf(row.id, names) ?? row.id,
  });
  const unread = [...from.log.state.messages.all.values()].flatMap(message => {
    const letters = [...message.letters.values()].filter(
      ({ to: row, state }) => state !== "read" && state !== "handed" && ownIdOf(row.id, names) !== null,
    );
    return message.open === 0 || letters.length === 0 ? [] : [[message, letters] as const];
  });
  await eachOf(unread, async ([{ id, text, bytes, urgent, broadcast, at, from: sender }, letters]) => {
    const reply = await enter(to, {
      ...{ type: "message_import", text, bytes, urgent, broadcast, at, project: to.project },
      ...{ from: sender && ownRow(sender), to: letters.map(letter => ownRow(letter.to)) },
      retry: { by: "store leave", requestId: `${id} ${at}`, digest: "" },
    });
    if (typeof reply["reached"] === "number") count += reply["reached"];
    for (const { to: row } of isAway ? [] : letters) {
      const actor = { session: row.id, agent: row.agent, incarnation: 0 };
      // One that stays unread no agent of this machine sees there any more.
      await from.submit({ type: "message_ack", actor, messages: [id], read: true });
    }
  });
  return count;
}

/** Entries that are under way at a time: a log stores many as fast as one. */
const atOnce = 100;

async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) await Promise.all(items.slice(at, at + atOnce).map(work));
}

/** Enters a command. Rejects with `MoveRefused` if the log refuses it. */
async function enter(to: Place, command: Command): Promise<Reply> {
  const reply = await to.submit(command);
  if (!reply.ok) throw new MoveRefused(reply);
  return reply;
}

/** Whether the log takes no command now. */
function isAway(code: string): boolean {
  return code.startsWith("store_") || ["level_unfit", "outcome_unknown", "restarting"].includes(code);
}

function takenId({ id }: Task): Refusal {
  const error = `another task has the id ${id} there; write this one anew (kite task add), cancel it, and run this again`;
  return refuse("task_state", error, { task: id });
}

function notRead(name: string): Refusal {
  const error = `this machine has read nothing of ${name} from the shared store yet; nothing was changed, try again when the store answers`;
  return refuse("store_away", error);
}

const underWay: Refusal = refuse(
  "store_busy",
  "another kite store command is under way; wait until it has ended, and run this again",
);
