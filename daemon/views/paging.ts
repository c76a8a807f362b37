/**
 * Rows page by page. Rows come and go between two pages, and between two steps of one page. So a page begins after a
 * position, not after a row or a count. Every row that exists throughout appears once. Only two kinds may repeat: a row that
 * got a later position, and rows with equal positions, if the last one shown has gone. If machines share logs, the rows of
 * this machine's log come first, then those of each other one. A page goes on in the log in which the page before it ended.
 *
 * Invariant: rows come in the order of their places, and those of one place in an order that does not change.
 */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import type { HeadFacts } from "../facts/git/head.ts";
import type { Steps } from "../server/call.ts";
import type { PresenceTable } from "../sessions/presence.ts";

// The common part of all rows of queries: their sources, their order, and which are wanted.

/** The parts of the daemon that rows are built from. */
export interface RowSource {
  readonly engine: Logs;
  readonly presence: PresenceTable;
  /** Where HEADs of worktrees were a moment ago; absent: nobody looks. */
  readonly facts?: { readonly heads: Pick<HeadFacts, "latest"> };
}

/** A row with its position: rows are ordered by `place`, and `key` distinguishes rows with equal positions. */
export interface Keyed<Row> {
  readonly place: number;
  readonly key: string;
  /** Builds the row when needed: a page of a million locks builds only a page of rows. */
  readonly row: () => Row;
}

/** Compares positions: by key too, as a table's own order of rows with equal positions may change between two pages. */
export function byPosition(a: Pick<Keyed<unknown>, "place" | "key">, b: typeof a): number {
  return a.place - b.place || (a.key < b.key ? -1 : 1);
}

/** Which rows are wanted; only these are looked at. Undefined: of all sessions, or of all projects. */
export interface RowsOf {
  readonly id?: string | undefined;
  readonly project?: string | undefined;
  /** The rows before this position are not wanted either. If rows have an index by it, none of them is looked at. */
  readonly from?: { readonly place: number } | null | undefined;
}

/** The position after which a page begins. */
export interface PageStart {
  readonly place: number;
  readonly key: string;
}

interface Wanted<Row> {
  readonly wanted: (row: Row) => boolean;
  readonly from: PageStart | null;
  readonly max: number;
}

/** The costs of skipping a row and of building an unwanted one, in bytes of text of equal effort. */
export const passedCost = 20;
export const unwantedCost = 200;

/** Parses `next` of an earlier reply; `nowhere` if it is invalid. */
export function placeIn(after: string): PageStart | "nowhere" {
  const [, place, key] = /^(\d{1,16}) (.*)$/s.exec(after) ?? [];
  return place === undefined || key === undefined ? "nowhere" : { place: Number(place), key };
}

/**
 * Returns a page as text: at most `max` rows and about `limits.lineBytes` (one row at least), with `next` if more rows
 * follow.
 */
export function page<Row>(rows: Iterable<Keyed<Row | undefined>>, wanted: Wanted<Row>): Steps<string> {
  return chosen(rows, { ...wanted, room: limits.lineBytes }, pageText);
}

/** Rows of one log for a page, as text. `next`: the position of the last one, if more rows follow. */
export interface Part {
  readonly rows: readonly string[];
  readonly next?: string | undefined;
}

/** At most `max` rows of about `room` characters, one at least. */
interface Room {
  readonly max: number;
  readonly room: number;
}

/** Returns the rows of one log that a page has room for. */
export function part<Row>(rows: Iterable<Keyed<Row | undefined>>, wanted: Wanted<Row> & Room): Steps<Part> {
  return chosen(rows, wanted, (shown, next) => ({ rows: shown, next }));
}

/** Chooses rows, and returns what is made of them. */
function* chosen<Row, Made>(
  rows: Iterable<Keyed<Row | undefined>>,
  { wanted, from, max, room }: Wanted<Row> & Room,
  made: (rows: readonly string[], next?: string) => Made,
): Steps<Made> {
  const shown: string[] = [];
  let last: PageStart | null = null;
  let size = 0;
  for (const one of from === null ? rows : behind(rows, from)) {
    const row = one?.row();
    if (one === null || row === undefined || !wanted(row)) {
      yield one === null ? passedCost : unwantedCost;
      continue;
    }
    const text = JSON.stringify(row);
    size += text.length;
    if (last !== null && (shown.length === max || size > room))
      return made(shown, `${last.place} ${last.key}`);
    shown.push(text);
    last = one;
    yield text.length + unwantedCost;
  }
  return made(shown);
}

/** Returns a page of rows that are already text. */
export function pageText(rows: readonly string[], next?: string): string {
  const more = next === undefined ? "" : `,"next":${JSON.stringify(next)}`;
  return `{"ok":true,"rows":[${rows.join(",")}]${more}}`;
}

/** Yields the rows after `from`, and null for each earlier one. If the row at `from` has gone, its position repeats. */
function* behind<Row>(rows: Iterable<Keyed<Row>>, from: PageStart): Generator<Keyed<Row> | null, void> {
  let same: Keyed<Row>[] = [];
  let passed = false;
  for (const one of rows) {
    if (one.place < from.place) {
      yield null;
      continue;
    }
    if (one.place === from.place && !passed) {
      same.push(one);
      passed = one.key === from.key;
      if (passed) same = [];
      yield null;
      continue;
    }
    yield* same;
    same = [];
    yield one;
  }
  yield* same;
}

/** What of a page comes from one log. `after`: the position of the last row shown; undefined: none was. */
export interface PartOf extends Room {
  readonly after: string | undefined;
}

/** Which rows: of one project, or with null of all. `after`: `next` of the page before. */
export interface PageOf {
  readonly project: string | null;
  readonly max: number;
  readonly after?: string | undefined;
}

/**
 * Returns a page as text; `make` returns each log's part of it. A page that ends with a log's last row has a next one if
 * there is a log after it, which may have no rows.
 */
export function* logPage(
  logs: Logs,
  { project, max, after }: PageOf,
  make: (log: LogView, of: PartOf) => Steps<Part | Refusal>,
): Steps<string | Refusal> {
  const all = project === null ? logs.logs : [logs.logOf(project)];
  const begin = after === undefined ? { n: 0, after } : markIn(after);
  if (begin.n >= all.length) return nowhere();
  const rows: string[] = [];
  let room: number = limits.lineBytes;
  for (const [n, log] of all.entries()) {
    if (n < begin.n) continue;
    if (rows.length === max || room <= 0) return pageText(rows, mark(n, ""));
    const of = { max: max - rows.length, room, after: n === begin.n ? begin.after : undefined };
    const part = yield* make(log, of);
    if ("ok" in part) return part;
    rows.push(...part.rows);
    room -= part.rows.reduce((sum, row) => sum + row.length, 0);
    if (part.next !== undefined) return pageText(rows, mark(n, part.next));
  }
  return pageText(rows);
}

/** Refuses a position that no page has. */
export function nowhere(): Refusal {
  return refuse("invalid_request", "query: after: give next of the reply before", { path: "after" });
}

/**
 * Whether the log is the one that has the project's rows. What this machine's own log has of a shared project is from before it
 * was shared.
 */
export function hasRowsOf(logs: Logs, log: LogView, project: string): boolean {
  return logs.logOf(project).state === log.state;
}

/**
 * Returns a position in a log as `next` has it. In the first log it is the plain position, unless that looks like a mark.
 */
function mark(n: number, position: string): string {
  return n === 0 && !position.startsWith("\n") ? position : `\n${n} ${position}`;
}

function markIn(text: string): { readonly n: number; readonly after: string | undefined } {
  const [, n, position] = /^\n(\d{1,4}) (.*)$/s.exec(text) ?? [];
  if (n === undefined) return { n: 0, after: text };
  return { n: Number(n), after: position === "" ? undefined : position };
}
