/**
 * Rows page by page. Between two pages, and between two steps of one, rows come and go, so a page begins behind a
 * place, not behind a row or a count: no row that was there all the time is left out, and none comes twice, except of
 * several at one place when the last one shown has gone.
 */

import { limits } from "../../protocol/limits.ts";
import type { Steps } from "../server/turns.ts";
import type { Keyed } from "./sessions-and-locks.ts";

/** Behind what a page begins. */
export interface Place {
  readonly place: number;
  readonly key: string;
}

export interface Wanted<Row> {
  readonly wanted: (row: Row) => boolean;
  readonly from: Place | null;
  readonly max: number;
}

/** What it takes to pass a row by, and to make one that is not wanted, in bytes of text that take as long. */
export const passedCost = 20;
export const unwantedCost = 200;

/** What `next` of an earlier reply says, or `nowhere` where it is none. */
export function placeIn(after: string): Place | "nowhere" {
  const [, place, key] = /^(\d{1,16}) (.*)$/s.exec(after) ?? [];
  return place === undefined || key === undefined ? "nowhere" : { place: Number(place), key };
}

/**
 * The reply with at most `max` rows, and as many as make about `limits.lineBytes` (one at least), as text; with `next`
 * where there are more.
 */
export function* page<Row>(rows: Iterable<Keyed<Row>>, { wanted, from, max }: Wanted<Row>): Steps<string> {
  const shown: string[] = [];
  let last: Place | null = null;
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

/** A page whose rows are texts already. */
export function pageText(rows: readonly string[], next?: string): string {
  const more = next === undefined ? "" : `,"next":${JSON.stringify(next)}`;
  return `{"ok":true,"rows":[${rows.join(",")}]${more}}`;
}

/** Rows behind `from`, and null for each one before. Where its own row is gone, those at the same place come again. */
function* behind<Row>(rows: Iterable<Keyed<Row>>, from: Place): Generator<Keyed<Row> | null, void> {
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
