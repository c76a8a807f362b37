/**
 * Rows page by page. Rows come and go between two pages, and between two steps of one page. So a page begins after a
 * position, not after a row or a count. Every row that exists throughout appears once; only a row that got a later
 * position may repeat, and rows with equal positions, if the last one shown has gone.
 *
 * Invariant: rows come in the order of their places, and those of one place in an order that does not change.
 */

import { limits } from "../../protocol/limits.ts";
import type { Steps } from "../server/turns.ts";
import type { Keyed } from "./row.ts";

/** The position after which a page begins. */
export interface PageStart {
  readonly place: number;
  readonly key: string;
}

export interface Wanted<Row> {
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
export function* page<Row>(
  rows: Iterable<Keyed<Row | undefined>>,
  { wanted, from, max }: Wanted<Row>,
): Steps<string> {
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
    if (last !== null && (shown.length === max || size > limits.lineBytes)) {
      return pageText(shown, `${last.place} ${last.key}`);
    }
    shown.push(text);
    last = one;
    yield text.length + unwantedCost;
  }
  return pageText(shown);
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
