/**
 * The state as bytes and back. Everything is written in the order it has in the state, so the bytes of a state
 * rebuilt from a snapshot and the entries after it equal those of the state that lived through them.
 */
import { addItem } from "./context.ts";
import { addMessage } from "./inbox.ts";
import { addHold, addWaiter } from "./lock-table.ts";
import { nameKey } from "./sessions.ts";
import {
  type ContextItem,
  type EditHold,
  emptyState,
  type FileWork,
  type Hold,
  type KeptReply,
  type Lapsed,
  type Locks,
  type MergeRisk,
  type Message,
  type NodeStart,
  type Session,
  type State,
  type Told,
  type Waiter,
} from "./state.ts";
import { enroll, noTasks, type Task, type Tasks } from "./task-table.ts";
import { addWork } from "./writes.ts";

const format = 1;

interface Stored {
  readonly format: number;
  readonly rules: number;
  readonly seq: number;
  readonly t: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly nodes: readonly (readonly [string, NodeStart])[];
  readonly sessions: readonly Session[];
  readonly ended: readonly (readonly [string, number])[];
  readonly grants: number;
  readonly lapsed: readonly (readonly [string, Lapsed])[];
  readonly holds: readonly Hold[];
  readonly waiters: readonly Waiter[];
  readonly taskCount: number;
  readonly tasks: readonly Task[];
  readonly writes: readonly FileWork[];
  readonly risks: readonly (readonly [string, MergeRisk])[];
  readonly context: readonly ContextItem[];
  readonly contextVersions: number;
  readonly messages: readonly Message[];
  readonly messageCount: number;
  readonly sent: readonly (readonly [string, readonly number[]])[];
  readonly editHolds: readonly EditHold[];
  readonly editHoldCount: number;
  readonly replies: readonly (readonly [string, KeptReply])[];
  readonly told: Told;
}

export function writeState(state: State): string {
  const stored: Stored = {
    format,
    rules: state.rules,
    seq: state.seq,
    t: state.t,
    storeId: state.storeId,
    epoch: state.epoch,
    nodes: [...state.nodes],
    sessions: [...state.sessions.live.values()],
    ended: [...state.sessions.ended],
    grants: state.locks.grants,
    lapsed: [...state.locks.lapsed],
    holds: [...state.locks.holds.values()].map(plainHold),
    waiters: [...state.locks.waiters.values()].map(plainWaiter),
    taskCount: state.tasks.created,
    tasks: [...state.tasks.all.values()].map(plainTask),
    writes: [...state.writes.files.values()],
    risks: [...state.risks],
    context: [...state.context.items.values()],
    contextVersions: state.context.versions,
    messages: [...state.messages.all.values()],
    messageCount: state.messages.count,
    sent: [...state.messages.sent],
    editHolds: [...state.editHolds.all.values()],
    editHoldCount: state.editHolds.count,
    replies: [...state.replies],
    told: state.told,
  };
  return JSON.stringify(stored);
}

/** Throws with the format found where it is not this one. */
export function readState(text: string): State {
  const stored: Stored = JSON.parse(text);
  if (stored.format !== format)
    throw new Error(`the snapshot has format ${stored.format}, this program reads ${format}`);
  const state = emptyState();
  state.rules = stored.rules;
  state.seq = stored.seq;
  state.t = stored.t;
  state.storeId = stored.storeId;
  state.epoch = stored.epoch;
  for (const [node, start] of stored.nodes) state.nodes.set(node, start);
  for (const session of stored.sessions) {
    state.sessions.live.set(session.id, session);
    state.sessions.names.set(nameKey(session.project, session.name), session.id);
  }
  for (const [id, at] of stored.ended) state.sessions.ended.set(id, at);
  state.locks.grants = stored.grants;
  for (const [flight, lapsed] of stored.lapsed) state.locks.lapsed.set(flight, lapsed);
  for (const hold of stored.holds) addHold(state.locks, { ...hold });
  for (const waiter of stored.waiters) addWaiter(state.locks, { ...waiter });
  state.tasks.created = stored.taskCount;
  enroll(
    state.tasks,
    stored.tasks.map(task => ({ ...task })),
  );
  for (const work of stored.writes) addWork(state.writes, work);
  for (const [id, risk] of stored.risks) state.risks.set(id, risk);
  for (const item of stored.context) addItem(state.context, item);
  state.context.versions = stored.contextVersions;
  for (const message of stored.messages) addMessage(state.messages, message);
  state.messages.count = stored.messageCount;
  for (const [by, times] of stored.sent) state.messages.sent.set(by, times);
  for (const hold of stored.editHolds) state.editHolds.all.set(hold.id, hold);
  state.editHolds.count = stored.editHoldCount;
  for (const [key, kept] of stored.replies) state.replies.set(key, kept);
  state.told = stored.told;
  return state;
}

/** The fields in one order, whatever made the object. */
function plainHold(hold: Hold): Hold {
  const { key, path, file, lexical, dir, actor, kind, prompt, bound } = hold;
  const { token, first, since, touched, renewed, yieldMs, flights, ancestors, loan } = hold;
  const { origin, askedAgain, retry } = hold;
  const request = { key, path, file, lexical, dir, actor, kind, prompt, bound };
  const time = { token, first, since, touched, renewed, yieldMs, flights, ancestors, loan };
  return { ...request, ...time, origin, askedAgain, retry };
}

function plainWaiter(w: Waiter): Waiter {
  const { ticket, origin, actor, files, single, kind, prompt, flight, yieldMs, ancestors, bound } = w;
  const { placeMs, detach, progress, since, waitMs, deadline, waitEnd, retry } = w;
  const request = { ticket, origin, actor, files, single, kind, prompt, flight, yieldMs, ancestors, bound };
  return { ...request, placeMs, detach, progress, since, waitMs, deadline, waitEnd, retry };
}

function plainTask(task: Task): Task {
  const { id, n, project, createdAt, createdBy, updatedAt, description } = task;
  const { priority, labels, dependsOn, attempts, state } = task;
  const made = { id, n, project, createdAt, createdBy, updatedAt, description };
  return { ...made, priority, labels, dependsOn, attempts, state };
}

/** The tasks with what is derived from them built anew, as `rebuiltIndexes`. */
export function rebuiltTasks(tasks: Tasks): Tasks {
  const fresh = noTasks();
  fresh.created = tasks.created;
  enroll(fresh, [...tasks.all.values()]);
  return fresh;
}

/** The derived part of the locks, built anew from holds and waiters: to be compared with the living one. */
export function rebuiltIndexes(locks: Locks): Locks {
  const fresh = emptyState().locks;
  for (const hold of locks.holds.values()) addHold(fresh, hold);
  for (const waiter of locks.waiters.values()) addWaiter(fresh, waiter);
  return fresh;
}
