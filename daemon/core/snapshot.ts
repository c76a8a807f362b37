/**
 * Writes the state as lines of text and reads it back. A line holds many items of one list, because a single string
 * of the whole state could exceed the longest possible string.
 * Invariant: lists keep the state's order, so a state replayed from a snapshot has the same bytes as the live one.
 */

import { contextRecords } from "./context-index.ts";
import { addDeclaration } from "./declarations/table.ts";
import { emptyState } from "./empty-state.ts";
import { addWork, riskRecords, settledRecords } from "./files/table.ts";
import { addResult } from "./lead/checks/table.ts";
import { addDebate } from "./lead/debates/table.ts";
import { addMerge } from "./lead/merges/table.ts";
import { addSpawn } from "./lead/spawns/table.ts";
import { addHold, addWaiter, settlePlaces } from "./locks/table.ts";
import { addFreeze } from "./messages/freeze-table.ts";
import { conflictRecords, pendingRecords } from "./messages/notice-table.ts";
import { addMessage } from "./messages/table.ts";
import { Images } from "./preimages.ts";
import { putReply } from "./retries.ts";
import { settlePresence } from "./sessions/present.ts";
import { addSession } from "./sessions/table.ts";
import {
  type Header,
  holdOf,
  type Lists,
  type Part,
  plainHold,
  plainMessage,
  plainSession,
  plainTask,
  plainWaiter,
} from "./snapshot-form.ts";
import { addStash } from "./stashes/table.ts";
import type { State } from "./state.ts";
import { insertTasks, type Task } from "./tasks/table.ts";

const format = 1;

/** The state at one moment; its rows are read when they are written. */
export interface Copy {
  readonly header: Header;
  readonly lists: { readonly [N in keyof Lists]: Iterable<Lists[N]> };
}

/**
 * Notes the state's rows, which is far cheaper than writing them, so that writing can happen piece by piece. `images`
 * has rows that change meanwhile as they were; without it the copy is read before the next entry.
 */
export function copyOf(state: State, images = new Images()): Copy {
  const { locks, tasks, writes, notes, declarations, checks, context, debates, messages, freezes, merges } =
    state;
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
    expiredWrites: [...locks.expiredWrites],
    taskCount: tasks.created,
    taskNumbers: [...tasks.numbers],
    taskNumbersFrom: tasks.numbersFrom,
    taskStamp: tasks.stamp,
    contextVersions: context.versions,
    ...(debates.count === 0 ? {} : { debateCount: debates.count }),
    ...(state.spawns.count === 0 ? {} : { spawnCount: state.spawns.count }),
    ...(merges.count === 0 ? {} : { mergeCount: merges.count }),
    messageCount: messages.count,
    sent: [...messages.sent],
    editHoldCount: freezes.count,
    noteCount: notes.count,
    endedDeclarations: declarations.endedCount,
    told: state.lastEventCursor,
  };
  const lists = {
    sessions: rows(state.sessions.live, images, plainSession),
    keptNames: pairs(state.sessions.keptNames),
    idle: [...state.sessions.idle],
    holds: rows(locks.holds, images, plainHold),
    waiters: rows(locks.waiters, images, plainWaiter),
    tasks: rows(tasks.all, images, plainTask),
    writes: [...writes.files.values()],
    settled: [...writes.settled.values()],
    risks: pairs(state.risks),
    notes: [...notes.pending.values()],
    conflicts: [...notes.conflicts.values()].map(({ id, sides }) => [id, { sides }] as const),
    declarations: [...declarations.live.values()],
    endedDeclarations: pairs(declarations.ended),
    context: [...context.items.values()],
    debates: [...debates.all.values()],
    messages: rows(messages.all, images, plainMessage),
    editHolds: [...freezes.all.values()],
    checks: [...checks.results.values()],
    spawns: [...state.spawns.all.values()],
    merges: [...merges.all.values()],
    stashes: [...state.stashes.entries.values()],
    replies: pairs(state.replies),
  };
  return { header, lists };
}

/** Returns a table's rows as they are stored, made when they are read. */
function rows<Row extends object, Stored>(
  table: ReadonlyMap<unknown, Row>,
  images: Images,
  stored: (row: Row) => Stored,
): Iterable<Stored> {
  const all = [...table.values()];
  return {
    *[Symbol.iterator]() {
      for (const row of all) yield stored(images.of(row));
    },
  };
}

/** Returns a table's keys with their values, which entries replace and never change. */
function pairs<Key, Value>(table: ReadonlyMap<Key, Value>): Iterable<readonly [Key, Value]> {
  const [keys, values] = [[...table.keys()], [...table.values()]];
  return {
    *[Symbol.iterator]() {
      for (const [i, key] of keys.entries()) yield [key, values[i] as Value] as const;
    },
  };
}

/** Yields the lines of the state, without line ends. */
export function* linesOf({ header, lists }: Copy): Generator<string, void> {
  yield JSON.stringify(header);
  yield* listLines("sessions", lists.sessions);
  yield* listLines("keptNames", lists.keptNames);
  yield* listLines("idle", lists.idle);
  yield* listLines("holds", lists.holds);
  yield* listLines("waiters", lists.waiters);
  yield* listLines("tasks", lists.tasks);
  yield* listLines("writes", lists.writes);
  yield* listLines("settled", lists.settled);
  yield* listLines("risks", lists.risks);
  yield* listLines("notes", lists.notes);
  yield* listLines("conflicts", lists.conflicts);
  yield* listLines("declarations", lists.declarations);
  yield* listLines("endedDeclarations", lists.endedDeclarations);
  yield* listLines("context", lists.context);
  yield* listLines("debates", lists.debates);
  yield* listLines("messages", lists.messages);
  yield* listLines("editHolds", lists.editHolds);
  yield* listLines("checks", lists.checks);
  yield* listLines("spawns", lists.spawns);
  yield* listLines("merges", lists.merges);
  yield* listLines("stashes", lists.stashes);
  yield* listLines("replies", lists.replies);
}

/** Returns the state as one text, for the small states of tests. */
export function writeState(state: State): string {
  return [...linesOf(copyOf(state))].join("\n");
}

/**
 * The most items in a line, and about its longest length: a line is made in one turn of the event loop, and takes about
 * a millisecond. A single context value may have 256 KiB.
 */
const itemsPerLine = 1_000;
const lineChars = 65_536;

function* listLines<N extends keyof Lists>(name: N, items: Iterable<Lists[N]>): Generator<string, void> {
  let texts: string[] = [];
  let chars = 0;
  for (const item of items) {
    const text = JSON.stringify(item);
    texts.push(text);
    chars += text.length;
    if (texts.length < itemsPerLine && chars < lineChars) continue;
    yield `{"${name}":[${texts.join(",")}]}`;
    texts = [];
    chars = 0;
  }
  if (texts.length > 0) yield `{"${name}":[${texts.join(",")}]}`;
}

/** Returns the state of these lines or this text. Throws an error that names the format if it is another one. */
export function readState(text: string | Iterable<string>): State {
  const lines = typeof text === "string" ? text.split("\n") : text;
  const state = emptyState();
  state.locks.heldPaths.postponeOrder();
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
  // Whether a task is ready depends on its dependencies, so all tasks are inserted together.
  insertTasks(state.tasks, tasks);
  // Loading marks everything as new, but a stored state has no pending changes and no cycle.
  state.sessions.touched.clear();
  for (const session of state.sessions.live.values()) settlePresence(state, session);
  settlePlaces(state.locks);
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
  for (const [flight, expiredWrites] of header.expiredWrites)
    state.locks.expiredWrites.set(flight, expiredWrites);
  state.tasks.created = header.taskCount;
  for (const [project, n] of header.taskNumbers ?? []) state.tasks.numbers.set(project, n);
  state.tasks.numbersFrom = header.taskNumbersFrom ?? header.taskCount;
  state.tasks.stamp = header.taskStamp ?? { ms: 0, top: 0 };
  state.context.versions = header.contextVersions;
  state.debates.count = header.debateCount ?? 0;
  state.spawns.count = header.spawnCount ?? 0;
  state.merges.count = header.mergeCount ?? 0;
  state.messages.count = header.messageCount;
  for (const [by, times] of header.sent) state.messages.sent.set(by, times);
  state.freezes.count = header.editHoldCount;
  state.notes.count = header.noteCount;
  state.declarations.endedCount = header.endedDeclarations ?? 0;
  state.lastEventCursor = header.told;
  return header;
}

function readLists(state: State, part: Part): void {
  for (const session of part.sessions ?? []) {
    const { agents, teammates, roles, members } = session;
    addSession(state.sessions, {
      ...session,
      namedBy: session.namedBy ?? "client",
      agents: new Map(agents),
      teammates: new Map(teammates),
      roles: new Map(roles),
      members: new Map(members),
    });
  }
  for (const [id, kept] of part.keptNames ?? []) state.sessions.keptNames.set(id, kept);
  for (const id of part.idle ?? []) state.sessions.idle.add(id);
  for (const hold of part.holds ?? []) addHold(state.locks, holdOf(hold));
  for (const waiter of part.waiters ?? []) addWaiter(state.locks, { ...waiter, row: null, blockers: null });
  for (const work of part.writes ?? []) addWork(state.writes, work);
  for (const work of part.settled ?? []) settledRecords.put(state.writes, work);
  for (const [, risk] of part.risks ?? []) riskRecords.put(state, risk);
  for (const pending of part.notes ?? []) pendingRecords.put(state.notes, pending);
  for (const [id, { sides }] of part.conflicts ?? []) conflictRecords.put(state.notes, { id, sides });
  for (const one of part.declarations ?? []) addDeclaration(state.declarations, one);
  for (const [n, one] of part.endedDeclarations ?? []) state.declarations.ended.set(n, one);
  for (const item of part.context ?? []) contextRecords.put(state.context, item);
  for (const debate of part.debates ?? []) addDebate(state.debates, debate);
  for (const message of part.messages ?? []) addMessage(state.messages, message);
  for (const hold of part.editHolds ?? []) addFreeze(state.freezes, hold);
  for (const result of part.checks ?? []) addResult(state.checks, result);
  for (const spawn of part.spawns ?? []) addSpawn(state.spawns, spawn);
  for (const merge of part.merges ?? []) addMerge(state.merges, merge);
  for (const entry of part.stashes ?? []) addStash(state.stashes, entry);
  for (const [key, kept] of part.replies ?? []) putReply(state, key, kept);
}
