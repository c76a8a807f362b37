/** The order of rows: a page begins after a position, so it skips a row that stands behind one with a later position. */

import type { State } from "../../daemon/core/state.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { checkRows } from "../../daemon/lead/checks.ts";
import { mergeRows } from "../../daemon/lead/merges.ts";
import { spawnRows } from "../../daemon/lead/spawns.ts";
import { holdRows, postedRows } from "../../daemon/views/messages.ts";
import type { Keyed, RowsOf } from "../../daemon/views/paging.ts";
import { lockRows, sessionRows } from "../../daemon/views/sessions.ts";
import { declarationRows, endedDeclarationRows, riskRows, writeRows } from "../../daemon/views/work.ts";
import { oneLog } from "../one-log.ts";

/** Yields a sentence for each row that stands in the wrong place, among all and among those of one session. */
export function* misplaced(state: State): Generator<string, void> {
  for (const [table, rows] of tables(state)) {
    yield* unsorted(table, rows({}));
    // A table that takes no session has the same rows for each.
    if (rows.length === 0) continue;
    for (const id of state.sessions.live.keys()) yield* unsorted(`${table} of ${id}`, rows({ id }));
  }
}

type Rows = (of: RowsOf) => Iterable<Keyed<unknown>>;

function tables(state: State): readonly (readonly [string, Rows])[] {
  const engine = oneLog({ state, now: state.t });
  // No row is built: what the rows are built from is not looked at.
  const services = { engine } as unknown as Parameters<typeof writeRows>[0];
  return [
    ["sessions", of => sessionRows(services, of)],
    ["locks", of => lockRows(services, of)],
    ["writes", of => writeRows(services, new Map(), of)],
    ["risks", of => riskRows(services, of)],
    ["messages", ({ id }) => postedRows(ownView(engine), { session: id })],
    ["declarations", of => declarationRows(engine, of)],
    ["ended declarations", of => endedDeclarationRows(engine, of)],
    ["freezes", () => holdRows(engine)],
    ["checks", () => checkRows(state)],
    ["spawns", () => spawnRows(services)],
    ["merges", () => mergeRows(services)],
  ];
}

function* unsorted(table: string, rows: Iterable<Keyed<unknown>>): Generator<string, void> {
  let last = 0;
  let ties = new Set<string>();
  for (const { place, key } of rows) {
    if (place < last) yield `${table}: ${key} stands behind a row with a later position`;
    if (place !== last) ties = new Set();
    if (ties.has(key)) yield `${table}: two rows have the position of ${key}`;
    ties.add(key);
    last = place;
  }
}
