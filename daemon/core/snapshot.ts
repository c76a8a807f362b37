/**
 * The state as lines of text and back: a line each for so many holds, tasks and so on, since one text of all of them
 * would be longer than a text can be. Everything is written in the order it has in the state, so the bytes of a state
 * rebuilt from a snapshot and the entries after it equal those of the state that lived through them.
 */
import { addItem } from "./context.ts";
import { addEditHold } from "./edit-hold-table.ts";
import { addMessage, type NewMessage } from "./inbox-table.ts";
import { addHold, addWaiter } from "./lock-table.ts";
import { addRisk } from "./merge-risk.ts";
import { addConflict, addPending, type Conflict, type PendingNotes } from "./note-table.ts";
import { addSession } from "./session-table.ts";
import {
  type ContextItem,
  type EditHold,
  type EditHolds,
  emptyState,
  type FileWork,
  type Hold,
  type KeptReply,
  type Lapsed,
  type Locks,
  type MergeRisk,
  type Messages,
  type NodeStart,
  type Session,
  type Sessions,
  type State,
  type Told,
  type Waiter,
} from "./state.ts";
import { enroll, noTasks, type Task, type Tasks } from "./task-table.ts";
import { addWork } from "./writes.ts";

const format = 1;

/** What is one value, or a list that stays short. */
interface Header {
  readonly format: number;
  readonly rules: number;
  readonly seq: number;
  readonly t: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly nodes: readonly (readonly [string, NodeStart])[];
  readonly ended: readonly (readonly [string, number])[];
  readonly grants: number;
  readonly lapsed: readonly (readonly [string, Lapsed])[];
  readonly taskCount: number;
  readonly contextVersions: number;
  readonly messageCount: number;
  readonly sent: readonly (readonly [string, readonly number[]])[];
  readonly editHoldCount: number;
  readonly noteCount: number;
  readonly told: Told;
}

/** The lists, by the name their lines carry, in the order they are written and read. */
interface Lists {
  sessions: Omit<Session, "agents"> & { readonly agents?: readonly (readonly [string, string])[] };
  idle: string;
  holds: Hold;
  waiters: Waiter;
  tasks: Task;
  writes: FileWork;
  risks: readonly [string, MergeRisk];
  notes: PendingNotes;
  conflicts: readonly [string, Conflict];
  context: ContextItem;
  messages: NewMessage;
  editHolds: EditHold;
  replies: readonly [string, KeptReply];
}

type Part = { readonly [N in keyof Lists]?: readonly Lists[N][] };

/** The lines of the state, without their ends. */
export function* stateLines(state: State): Generator<string, void> {
  const { locks, tasks, writes, notes, context, messages, editHolds } = state;
  const header: Header = {
    format,
    rules: state.rules,
    seq: state.seq,
    t: state.t,
    storeId: state.storeId,
    epoch: state.epoch,
    nodes: [...state.nodes],
    ended: [...state.sessions.ended],
    grants: locks.grants,
    lapsed: [...locks.lapsed],
    taskCount: tasks.created,
    contextVersions: context.versions,
    messageCount: messages.count,
    sent: [...messages.sent],
    editHoldCount: editHolds.count,
    noteCount: notes.count,
    told: state.told,
  };
  yield JSON.stringify(header);
  yield* listLines("sessions", [...state.sessions.live.values()].map(plainSession), same);
  yield* listLines("idle", state.sessions.idle, same);
  yield* listLines("holds", locks.holds.values(), plainHold);
  yield* listLines("waiters", locks.waiters.values(), plainWaiter);
  yield* listLines("tasks", tasks.all.values(), plainTask);
  yield* listLines("writes", writes.files.values(), same);
  yield* listLines("risks", state.risks, same);
  yield* listLines("notes", notes.pending.values(), same);
  yield* listLines("conflicts", notes.conflicts, same);
  yield* listLines("context", context.items.values(), same);
  yield* listLines("messages", plainMessages(messages), same);
  yield* listLines("editHolds", editHolds.all.values(), same);
  yield* listLines("replies", state.replies, same);
}

/** The whole text: for states of a size that tests have. */
export function writeState(state: State): string {
  return [...stateLines(state)].join("\n");
}

/** Items in one line, and about how long it gets: a value of the shared context alone may be 256 KiB. */
const itemsPerLine = 1_000;
const lineChars = 1_048_576;

function* listLines<N extends keyof Lists>(
  name: N,
  items: Iterable<Lists[N]>,
  plain: (item: Lists[N]) => Lists[N],
): Generator<string, void> {
  let texts: string[] = [];
  let chars = 0;
  for (const item of items) {
    const text = JSON.stringify(plain(item));
    texts.push(text);
    chars += text.length;
    if (texts.length < itemsPerLine && chars < lineChars) continue;
    yield `{"${name}":[${texts.join(",")}]}`;
    texts = [];
    chars = 0;
  }
  if (texts.length > 0) yield `{"${name}":[${texts.join(",")}]}`;
}

function same<T>(item: T): T {
  return item;
}

/** The state of these lines, or of their whole text. Throws with the format found where it is not this one. */
export function readState(text: string | Iterable<string>): State {
  const lines = typeof text === "string" ? text.split("\n") : text;
  const state = emptyState();
  const tasks: Task[] = [];
  let header: Header | null = null;
  for (const line of lines) {
    if (header === null) {
      header = readHeader(state, line);
      continue;
    }
    const part: Part = JSON.parse(line);
    readLists(state, part);
    for (const task of part.tasks ?? []) tasks.push(task);
  }
  if (header === null) throw new Error("the snapshot is empty");
  // Whether one is ready is known when all are there.
  enroll(state.tasks, tasks);
  // As it was written: nothing came or went, and what is stored is in no cycle.
  state.sessions.touched.clear();
  state.locks.graph.fresh.clear();
  return state;
}

function readHeader(state: State, line: string): Header {
  const header: Header = JSON.parse(line);
  if (header.format !== format)
    throw new Error(`the snapshot has format ${header.format}, this program reads ${format}`);
  state.rules = header.rules;
  state.seq = header.seq;
  state.t = header.t;
  state.storeId = header.storeId;
  state.epoch = header.epoch;
  for (const [node, start] of header.nodes) state.nodes.set(node, start);
  for (const [id, at] of header.ended) state.sessions.ended.set(id, at);
  state.locks.grants = header.grants;
  for (const [flight, lapsed] of header.lapsed) state.locks.lapsed.set(flight, lapsed);
  state.tasks.created = header.taskCount;
  state.context.versions = header.contextVersions;
  state.messages.count = header.messageCount;
  for (const [by, times] of header.sent) state.messages.sent.set(by, times);
  state.editHolds.count = header.editHoldCount;
  state.notes.count = header.noteCount;
  state.told = header.told;
  return header;
}

function readLists(state: State, part: Part): void {
  for (const session of part.sessions ?? []) {
    addSession(state.sessions, { ...session, agents: new Map(session.agents) });
  }
  for (const id of part.idle ?? []) state.sessions.idle.add(id);
  for (const hold of part.holds ?? []) addHold(state.locks, hold);
  for (const waiter of part.waiters ?? []) addWaiter(state.locks, waiter);
  for (const work of part.writes ?? []) addWork(state.writes, work);
  for (const [id, risk] of part.risks ?? []) addRisk(state, id, risk);
  for (const pending of part.notes ?? []) addPending(state.notes, pending);
  for (const [id, conflict] of part.conflicts ?? []) addConflict(state.notes, id, conflict);
  for (const item of part.context ?? []) addItem(state.context, item);
  for (const message of part.messages ?? []) addMessage(state.messages, message);
  for (const hold of part.editHolds ?? []) addEditHold(state.editHolds, hold);
  for (const [key, kept] of part.replies ?? []) state.replies.set(key, kept);
}

function plainSession(session: Session): Lists["sessions"] {
  return { ...session, agents: [...session.agents] };
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

function* plainMessages({ all }: Messages): Generator<NewMessage, void> {
  for (const message of all.values()) {
    const { open: _open, letters, ...rest } = message;
    yield { ...rest, letters: [...letters.values()] };
  }
}

function plainTask(task: Task): Task {
  const { id, n, project, createdAt, createdBy, updatedAt, description } = task;
  const { priority, labels, dependsOn, attempts, state } = task;
  const made = { id, n, project, createdAt, createdBy, updatedAt, description };
  return { ...made, priority, labels, dependsOn, attempts, state };
}

/** The tasks with what is derived from them built anew, as `rebuiltIndexes`. */
export function rebuiltTasks(tasks: Tasks): Tasks {
  const fresh = noTasks(new Set());
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

/** The holds on edits with what is derived from them built anew, as `rebuiltIndexes`. */
export function rebuiltEditHolds(holds: EditHolds): EditHolds {
  const fresh = emptyState().editHolds;
  for (const hold of holds.all.values()) addEditHold(fresh, hold);
  return fresh;
}

/** The sessions with what is derived from them built anew, as `rebuiltIndexes`. */
export function rebuiltSessions({ live }: Sessions): Sessions {
  const fresh = emptyState().sessions;
  for (const session of live.values()) addSession(fresh, session);
  return fresh;
}
