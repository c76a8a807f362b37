/** Declarations as `query` shows them. */
import type { DeclarationRow } from "../../protocol/declaration.ts";
import { declarationRow } from "../core/declarations/rows.ts";
import { declarationsOf } from "../core/declarations/table.ts";
import { noteKey } from "../core/messages/notice-table.ts";
import type { State } from "../core/state.ts";
import { byPosition, type Keyed, type RowsOf } from "./row.ts";

interface Known {
  readonly state: State;
  readonly now: number;
}

/** Declarations that hold, in the order they began, then by their agents; of a session those of its agents. */
export function* declarationRows(
  { state, now }: Known,
  { id }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const { declarations } = state;
  const all = id === undefined ? [...declarations.live.values()] : declarationsOf(declarations, id);
  // Their tables are in the order of the latest changes.
  const rows = all.map(one => ({
    place: one.declaredAt,
    key: noteKey(one),
    row: () => declarationRow(one, now),
  }));
  yield* rows.sort(byPosition);
}

/** Declarations that ended, oldest first. */
export function* endedDeclarationRows(
  { state, now }: Known,
  { id }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  for (const [n, one] of state.declarations.ended) {
    if (id !== undefined && one.session !== id) continue;
    yield { place: n, key: String(n), row: () => declarationRow(one, now) };
  }
}
