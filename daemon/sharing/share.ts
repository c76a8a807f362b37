/**
 * Shares a project of this machine through its store, and takes all of them back.
 *
 * Invariants: the entry `sharing_set` of the own log is the moment from which a project is shared, or no longer is. What a
 * project has moves to the store after that entry. Until then nobody here or elsewhere can claim these tasks. A move that
 * broke off goes on whenever the store opens. What comes back is copied before the entry, and a copy that broke off is
 * undone. So everything is in at least one log, and each step may run again.
 */
import { refuse } from "../../protocol/codes.ts";
import type { CopyNotes, CopyRow, LeftOutRow } from "../../protocol/schemas/store.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Command } from "../core/tables/entries.ts";
import type { Task } from "../core/tables/tasks.ts";
import {
  bringChanges,
  claimAgain,
  claimsIn,
  doneIn,
  recordForShare,
  releasedOf,
  replacing,
  returnsOf,
  withGone,
} from "./bring.ts";
import {
  type CopyLog,
  CopyRefused,
  contentsOf,
  copyContext,
  copyTasks,
  enter,
  isCopy,
  isLeaving,
  mayCopy,
  missingAt,
  type Place,
  removeContext,
  removeCopied,
  removeTasks,
} from "./copy.ts";
import { copyMessages } from "./copy-messages.ts";
import { basesOf, digestOf, type LeaveRecords, type ProjectRecord } from "./leave-records.ts";
import { actorHere, actorThere } from "./names.ts";
import { numberLetters, releasedLetters } from "./renumbered.ts";

/** Both logs, and who this machine is in the shared one. */
export interface BothLogs {
  readonly own: CopyLog;
  readonly shared: CopyLog;
  readonly node: string;
  /** What the store calls this machine. */
  readonly machine: string;
  readonly records: LeaveRecords;
  /** Wall time in milliseconds. */
  wall(): number;
  /** Resolves with whether the store has heard of all sessions of this machine. */
  relayed(): Promise<boolean>;
}

/** What a move of one project, or of all, came to. */
export type Copied = Pick<CopyRow, "tasks" | "context"> & CopyNotes;

/**
 * Shares the project as `as`. Rejects with `CopyRefused`. If there is no room for what the project has, it does so before
 * the project is shared. If the store ends the move, it does so after that, and may run again.
 */
export async function shareProject(logs: BothLogs, project: string, as: string): Promise<Copied> {
  const { own, shared, node, records } = logs;
  if (!isSharedAs(own, project, as)) {
    const here: Place = { log: own, project };
    const there: Place = { log: shared, project: as };
    mayCopy(here, there);
    records.put(project, recordForShare(records.get(project, as), here, there));
    const projects = [...own.state.outbox.projects, [project, as] as const];
    await enter(own, { type: "sharing_set", node, projects });
  }
  try {
    return await moveRest(logs, project, as);
  } catch (error) {
    if (!(error instanceof CopyRefused)) throw error;
    const { code, error: why } = error.refusal;
    const so = `${project} is shared as ${as}, and not all that it had is in the store yet: Kite goes on moving it by itself, and now with: kite store share`;
    throw new CopyRefused({ ...error.refusal, code, error: `${so}. ${why}` });
  }
}

/** Moves what the own log still has of a shared project. Rejects with `CopyRefused`, and may run again then. */
export async function moveRest(logs: BothLogs, project: string, as: string): Promise<Copied> {
  const { own, shared, machine, records } = logs;
  const here: Place = { log: own, project };
  const there: Place = { log: shared, project: as };
  const actorIn = (actor: Actor) => actorThere(own.state, actor);
  const leftOut = [...(await undoLeave(logs, here, as))];
  const known = records.get(project, as);
  const record = known === null ? null : withGone(known, here, there);
  if (record !== known) records.put(project, record);
  // Claims go along, so the store has to know whose they are.
  if (!(await logs.relayed())) throw new CopyRefused(unheard);
  const { tasks, context } = contentsOf(here);
  const claims = claimsIn(tasks);
  // A task that is copied may depend on one that was done here meanwhile.
  leftOut.push(...(await bringChanges(here, there, doneIn(here), record, machine)));
  const { numbers, imported } = await copyTasks(here, there, tasks, actorIn);
  leftOut.push(...(await bringChanges(here, there, tasks, record, machine)));
  await claimAgain(there, tasks, actorIn, record);
  const released = releasedOf(there, claims, actorIn);
  const replaces = record === null ? {} : { replaces: replacing(record) };
  const keys = await copyContext(here, there, context, { aside: machine, ...replaces });
  const [isLost, at] = [new Set(released), logs.wall()];
  const kept = numbers.filter(({ task }) => !isLost.has(task));
  await tell(own, [
    ...numberLetters(own.state, kept, { isShared: true, at }),
    ...releasedLetters(own.state, shared.state, released, at),
  ]);
  await removeCopied(here, there, () => false);
  await removeContext(here, context);
  const returns = record === null ? [] : returnsOf(record, there);
  records.put(project, null);
  return { tasks: imported, context: context.length, numbers, keys, released, leftOut, returns };
}

const unheard = refuse("store_away", "the store has not heard yet of the sessions of this machine");

/**
 * Removes what a leave that broke off copied: this machine is still in the store. What was made here since goes there, and what
 * changed of the copies; returns what is left out of that.
 */
async function undoLeave(
  { shared, machine, records, wall }: BothLogs,
  here: Place,
  as: string,
): Promise<readonly LeftOutRow[]> {
  const { log, project } = here;
  const record = records.get(project, as);
  if (record === null || record.before === null) return [];
  const [ids, keys] = [new Set(record.before.tasks), new Set(record.before.keys)];
  const { tasks, context } = contentsOf(here);
  const there: Place = { log: shared, project: as };
  const { all } = shared.state.tasks;
  const isCopied = (task: Task) =>
    !ids.has(task.id) && (task.id in record.tasks || isCopy(task, all.get(task.id), there));
  const copies = [...doneIn(here), ...tasks].filter(({ id }) => !ids.has(id));
  const leftOut = await bringChanges(here, there, copies, record, machine);
  // What one that stays depends on stays, and goes with it.
  const stay = new Set(tasks.filter(task => !isCopied(task)).map(({ id }) => id));
  for (const id of stay) for (const need of log.state.tasks.all.get(id)?.dependsOn ?? []) stay.add(need);
  await removeTasks(
    log,
    tasks.filter(({ id }) => !stay.has(id)),
  );
  // A key that was taken here already got its copy beside it.
  const wasOf = (key: string) => record.keys[key] ?? record.keys[key.replace(/@store(-\d+)?$/, "")];
  await removeContext(
    here,
    context.filter(({ key, value }) => !keys.has(key) && wasOf(key) === digestOf(value)),
  );
  // What a share left here goes on by how it was before.
  const known = Object.entries(record.tasks).filter(([id]) => ids.has(id));
  const values = Object.entries(record.keys).filter(([key]) => keys.has(key));
  const [rest, restKeys] = [Object.fromEntries(known), Object.fromEntries(values)];
  const isOver = known.length + values.length === 0;
  records.put(project, isOver ? null : { as, before: null, tasks: rest, keys: restKeys });
  records.undoneAtMs = wall();
  return leftOut;
}

/** Whether the project is shared under this name. */
export function isSharedAs({ state }: Pick<CopyLog, "state">, project: string, as: string): boolean {
  return state.outbox.node !== "" && state.outbox.projects.get(project) === as;
}

/** Returns the shared projects whose move to the store, or whose leave, broke off. */
export function unmoved({ own, records }: Pick<BothLogs, "own" | "records">): readonly Sharing[] {
  return [...own.state.outbox.projects].filter(([project, as]) => {
    const { tasks, context } = contentsOf({ log: own, project });
    return tasks.length + context.length > 0 || records.get(project, as) !== null;
  });
}

/** A project as this machine calls it, and as the store does. */
export type Sharing = readonly [project: string, as: string];

/** Finishes all that broke off. Rejects, when each project was tried, with an error that says of which one something is left here. */
export async function moveAll(
  logs: BothLogs,
  onMoved: (sharing: Sharing, copied: Copied) => void,
): Promise<void> {
  const problems: CopyRefused[] = [];
  for (const [project, as] of unmoved(logs)) {
    try {
      onMoved([project, as], await moveRest(logs, project, as));
    } catch (error) {
      if (!(error instanceof CopyRefused)) throw error;
      const why = `${project} is shared as ${as}, and what is left of it here could not go to the store: ${error.message}`;
      problems.push(new CopyRefused({ ...error.refusal, error: why }));
    }
  }
  const [first] = problems;
  if (first !== undefined) throw first;
}

/**
 * Copies back what is open in all shared projects, and ends their sharing; the store keeps its own. The messages that this
 * machine's sessions have not read come along. The first of several clones that share one name gets it. What broke off
 * before is finished, or the store is away. Rejects with `CopyRefused`, and may run again then.
 */
export async function takeBack(
  logs: Pick<BothLogs, "own" | "shared" | "node" | "records" | "wall">,
  outward: <Shown>(shown: Shown) => Shown,
): Promise<Copied & { readonly unread: number }> {
  const { own, shared, node } = logs;
  const all: Pick<Copied, "tasks" | "context" | "numbers" | "keys">[] = [];
  let unread = 0;
  const names = projectsByName(own);
  for (const [as, project] of names) {
    const here: Place = { log: own, project };
    const there: Place = { log: shared, project: as };
    const { tasks, context } = await beginLeave(logs, here, there);
    const { numbers } = await copyTasks(there, here, tasks, actor => actorHere(own.state, actor));
    const keys = await copyContext(there, here, context, { aside: "store" });
    unread += await copyMessages(there, here, node, outward);
    const named = names.size === 1 ? numbers : numbers.map(row => ({ ...row, project: as }));
    all.push({ tasks: tasks.length, context: context.length, numbers: named, keys });
  }
  await copyLate(logs, names);
  const numbers = all.flatMap(one => one.numbers);
  const letters = numberLetters(own.state, numbers, { isShared: false, at: logs.wall() });
  // In one batch of the log: an agent hears of its numbers if they count, also if the daemon is killed.
  const left = enter(own, { type: "sharing_set", node: "", projects: [] });
  await Promise.all([left, tell(own, letters)]);
  await copyLate(logs, names);
  return {
    tasks: all.reduce((sum, { tasks }) => sum + tasks, 0),
    context: all.reduce((sum, { context }) => sum + context, 0),
    numbers,
    keys: all.flatMap(({ keys }) => keys),
    released: [],
    leftOut: [],
    returns: [],
    unread,
  };
}

/** Enters these messages at once. A log that has no room for one has none for any other either, and what moves does not wait for that. */
async function tell(own: CopyLog, letters: readonly Command[]): Promise<void> {
  await Promise.all(letters.map(letter => own.submitAndWait(letter)));
}

/** Copies back what others made in the store while the copy went on. */
async function copyLate(
  { own, shared, records }: Pick<BothLogs, "own" | "shared" | "records">,
  names: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [as, project] of names) {
    const here: Place = { log: own, project };
    const there: Place = { log: shared, project: as };
    const known = records.get(project, as);
    const tasks = missingAt(here, contentsOf(there).tasks);
    if (known === null || tasks.length === 0) continue;
    const ids = new Set(tasks.map(({ id }) => id));
    const isHere = (id: string) => ids.has(id) || own.state.tasks.all.has(id);
    records.put(project, { ...known, tasks: { ...known.tasks, ...basesOf(tasks, isHere) } });
    await copyTasks(there, here, tasks, () => null);
  }
}

/** Makes room for what comes back, keeps how it is, and returns it. */
async function beginLeave({ records }: Pick<BothLogs, "records">, here: Place, there: Place) {
  const { log, project } = here;
  const as = there.project;
  const known = records.get(project, as);
  // What broke off before, while the store is away: these are newer here than what is known of the store.
  const isNewer = ({ id }: Task) => known !== null && id in known.tasks;
  await removeCopied(here, there, task => isNewer(task) && !isLeaving(task));
  const contents = contentsOf(there);
  const ids = new Set(contents.tasks.map(({ id }) => id));
  const { all } = there.log.state.tasks;
  const copies = doneIn(here).filter(task => isCopy(task, all.get(task.id), there));
  // Others opened anew what was done here.
  const reopened = copies.filter(({ id }) => ids.has(id));
  // The tasks are as here. The store has another version of what a share left out.
  const done = copies.filter(({ id }) => !ids.has(id));
  await removeTasks(
    log,
    reopened.filter(task => !isNewer(task)),
  );
  // The table goes on, and changes its rows.
  const tasks = contents.tasks.map(task => ({ ...task }));
  const mine = contentsOf(here);
  const isHere = (id: string) => ids.has(id) || log.state.tasks.all.has(id);
  const record: ProjectRecord = {
    as,
    before: known?.before ?? {
      tasks: mine.tasks.map(({ id }) => id),
      keys: mine.context.map(({ key }) => key),
    },
    tasks: { ...basesOf([...tasks, ...done], isHere), ...known?.tasks },
    keys: {
      ...Object.fromEntries(contents.context.map(({ key, value }) => [key, digestOf(value)])),
      ...known?.keys,
    },
  };
  records.put(project, record);
  const isContinued = known !== null && known.before !== null;
  const held = new Set(isContinued ? mine.context.map(({ key }) => key) : []);
  return { tasks, context: contents.context.filter(({ key }) => !held.has(key)) };
}

/** Returns each shared name with the first of this machine's projects that has it. */
export function projectsByName({ state }: Pick<CopyLog, "state">): ReadonlyMap<string, string> {
  return new Map([...state.outbox.projects].reverse().map(([project, as]) => [as, project]));
}
