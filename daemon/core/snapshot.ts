/**
 * Writes the state as lines of text and reads it back. A line holds many items of one list, because a single string
 * of the whole state could exceed the longest possible string.
 * Invariant: lists keep the state's order, so a state replayed from a snapshot has the same bytes as the live one.
 */

import { type Limits, limits } from "../../protocol/limits.ts";
import { type Identified, Images } from "./frame/saved-rows.ts";
import { settlePlaces } from "./locks/holds.ts";
import { settlePresence } from "./sessions/room.ts";
import { ruleList } from "./slices.ts";
import { headOrder, newState, rowsOf, type State, type TableName } from "./state.ts";
import { type BaseState, type NodeStart, rulesLevel } from "./tables/base-state.ts";
import type { Points } from "./tables/entries.ts";
import { insertTasks } from "./tables/tasks.ts";

// Makes the state before the first entry, with what the slices do at the base's points.

const points: readonly Points<State>[] = ruleList.flatMap(rules => ("points" in rules ? [rules.points] : []));

/** Returns the state before the first entry. A log begins with `firstRulesLevel`. Tests may set other bounds. */
export function emptyState(rules = rulesLevel, bounds: Limits = limits): State {
  return newState(points, rules, bounds);
}

const format = 1;

/** The first line: what stands here, and the fields of the tables. */
interface Header extends Pick<BaseState, "rules" | "seq" | "t" | "storeId" | "epoch"> {
  readonly format: number;
  readonly nodes: readonly (readonly [string, NodeStart])[];
  readonly told: BaseState["lastEventCursor"];
}

/** The state at one moment; its rows are read when they are written. */
interface Copy {
  readonly header: Header;
  /** By name, in the order of writing. */
  readonly lists: ReadonlyMap<string, Iterable<unknown>>;
}

/**
 * Notes the state's rows, which is far cheaper than writing them, so that writing can happen piece by piece. `images`
 * has rows that change meanwhile as they were; without it the copy is read before the next entry.
 */
export function copyOf(state: State, images = new Images()): Copy {
  const heads = [...headOrder].map(table => headOf(state, table));
  const header: Header = {
    format,
    rules: state.rules,
    seq: state.seq,
    t: state.t,
    storeId: state.storeId,
    epoch: state.epoch,
    nodes: [...state.nodes],
    ...Object.assign({}, ...heads),
    told: state.lastEventCursor,
  };
  return { header, lists: new Map(tableNames.flatMap(table => listsOf(state, table, images))) };
}

const tableNames = Object.keys(rowsOf) as TableName[];

function headOf<N extends TableName>(state: State, table: N): object | undefined {
  return rowsOf[table].head?.write(state[table]);
}

function listsOf<N extends TableName>(state: State, table: N, images: Images) {
  const lists = Object.entries(rowsOf[table].lists);
  return lists.map(
    ([name, list]) => [name, withParts(state, name, list.write(state[table], images))] as const,
  );
}

/** Returns the rows of a list with the fields that other tables have there. */
function withParts(state: State, list: string, rows: Iterable<unknown>): Iterable<unknown> {
  const parts = tableNames.flatMap(table => partOf(state, table, list) ?? []);
  return parts.length === 0 ? rows : joinedRows(rows as Iterable<Identified>, parts);
}

function partOf<N extends TableName>(state: State, table: N, list: string) {
  return rowsOf[table].parts?.[list]?.write(state[table]);
}

type FieldsOf = (row: Identified) => object;

function* joinedRows(rows: Iterable<Identified>, parts: readonly FieldsOf[]): Generator<object, void> {
  for (const row of rows) yield Object.assign({}, row, ...parts.map(fieldsOf => fieldsOf(row)));
}

/** Yields the lines of the state, without line ends. */
export function* linesOf({ header, lists }: Copy): Generator<string, void> {
  yield JSON.stringify(header);
  for (const [name, items] of lists) yield* listLines(name, items);
}

/** Returns the state as one text, for the small states of tests. */
export function writeState(state: State): string {
  return [...linesOf(copyOf(state))].join("\n");
}

/**
 * The most items in a line, and about its longest length. Making a line takes one turn of the event loop, and about a
 * millisecond. A single context value may have 256 KiB.
 */
const itemsPerLine = 1_000;
const lineChars = 65_536;

function* listLines(name: string, items: Iterable<unknown>): Generator<string, void> {
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
  let hasHeader = false;
  for (const line of lines) {
    if (hasHeader) readLists(state, line);
    else readHeader(state, line);
    hasHeader = true;
  }
  if (!hasHeader) throw new Error("the snapshot is empty");
  // Whether a task is ready depends on its dependencies, so all tasks are inserted together.
  insertTasks(state.tasks, [...state.tasks.all.values()]);
  // Loading marks everything as new, but a stored state has no pending changes and no cycle.
  state.sessions.touched.clear();
  for (const session of state.sessions.live.values()) settlePresence(state, session);
  settlePlaces(state.locks);
  state.locks.graph.fresh.clear();
  return state;
}

/** Fields and lists of a log that machines shared before a store had rows. */
const replicatedParts: ReadonlySet<string> = new Set([
  ...["outbox", "outboxTold", "outboxAgents", "outboxParts", "leases", "isShared"],
]);

/** Thrown if a snapshot has something that is not to be left out in silence. */
export class SnapshotUnfit extends Error {
  override readonly name = "SnapshotUnfit";
}

function refuseReplicated(fields: object): void {
  const found = Object.keys(fields).find(field => replicatedParts.has(field));
  if (found !== undefined) throw new SnapshotUnfit(`it has ${found} of a replicated log`);
}

function readHeader(state: State, line: string): void {
  const header: Header = JSON.parse(line);
  refuseReplicated(header);
  if (header.format !== format)
    throw new Error(`the snapshot has format ${header.format}, this program reads ${format}`);
  state.rules = header.rules;
  state.seq = header.seq;
  state.t = header.t;
  state.storeId = header.storeId;
  state.epoch = header.epoch;
  for (const [node, start] of header.nodes) state.nodes.set(node, start);
  for (const table of tableNames) readHead(state, table, header);
  state.lastEventCursor = header.told;
}

function readHead<N extends TableName>(state: State, table: N, header: Header): void {
  rowsOf[table].head?.read(state[table], header);
}

function readLists(state: State, line: string): void {
  const part: { readonly [Name in string]: readonly unknown[] } = JSON.parse(line);
  refuseReplicated(part);
  for (const [name, rows] of Object.entries(part)) {
    const table = tableNames.find(one => name in rowsOf[one].lists);
    if (table !== undefined) readList(state, table, name, rows);
  }
}

function readList<N extends TableName>(state: State, table: N, name: string, rows: readonly unknown[]): void {
  const list = rowsOf[table].lists[name];
  const others = tableNames.filter(one => rowsOf[one].parts?.[name] !== undefined);
  for (const row of rows) {
    const own = others.reduce((rest, other) => readPart(state, other, name, rest), row);
    list?.read(state[table], own, state);
  }
}

/** Reads the table's fields of a row, and returns the row without them. */
function readPart<N extends TableName>(state: State, table: N, list: string, row: unknown): unknown {
  return rowsOf[table].parts?.[list]?.read(state[table], row as Identified);
}
