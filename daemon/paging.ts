/**
 * Rows page by page. Between two pages rows come and go, so a page begins behind a place, not behind a row or a
 * count: no row that was there all the time is left out, and none comes twice, except of several at one place when
 * the last one shown has gone.
 */

import type { QueryReply } from "../protocol/daemon.ts";
import { limits } from "../protocol/limits.ts";
import type { Keyed } from "./rows.ts";

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

/** What `next` of an earlier reply says, or `nowhere` where it is none. */
export function placeIn(after: string): Place | "nowhere" {
  const [, place, key] = /^(\d{1,16}) (.*)$/s.exec(after) ?? [];
  return place === undefined || key === undefined ? "nowhere" : { place: Number(place), key };
}

/**
 * At most `max` rows, and as many as make a reply of about `limits.lineBytes` (one at least); with `next` where
 * there are more.
 */
export function page<Row>(rows: Iterable<Keyed<Row>>, { wanted, from, max }: Wanted<Row>): QueryReply<Row> {
  const shown: Row[] = [];
  let last: Place | null = null;
  let size = 0;
  for (const one of from === null ? rows : behind(rows, from)) {
    const row = one.row();
    if (!wanted(row)) continue;
    size += JSON.stringify(row).length;
    if (last !== null && (shown.length === max || size > limits.lineBytes)) {
      return { ok: true, rows: shown, next: `${last.place} ${last.key}` };
    }
    shown.push(row);
    last = one;
  }
  return { ok: true, rows: shown };
}

/** Rows behind `from`. Where its own row is gone, those at the same place come again. */
function* behind<Row>(rows: Iterable<Keyed<Row>>, from: Place): Generator<Keyed<Row>, void> {
  let same: Keyed<Row>[] = [];
  let passed = false;
  for (const one of rows) {
    if (one.place < from.place) continue;
    if (one.place === from.place && !passed) {
      same.push(one);
      passed = one.key === from.key;
      if (passed) same = [];
      continue;
    }
    yield* same;
    same = [];
    yield one;
  }
  yield* same;
}
