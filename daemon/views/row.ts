/** What all rows of queries have in common: what they are built from, their order, and which are wanted. */
import type { Logs } from "../engine/log-view.ts";
import type { PresenceTable } from "../sessions/presence.ts";

/** The parts of the daemon that rows are built from. */
export interface RowSource {
  readonly engine: Logs;
  readonly presence: PresenceTable;
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
  /** The rows before this position are not wanted either; where rows have an index by it, none of them is looked at. */
  readonly from?: { readonly place: number } | null | undefined;
}
