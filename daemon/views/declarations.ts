/** Declarations as `query` shows them. */
import type { DeclarationRow } from "../../protocol/declaration.ts";
import { declarationRow } from "../core/declarations/rows.ts";
import { declarationsOf } from "../core/declarations/table.ts";
import { noteKey } from "../core/messages/notice-table.ts";
import type { State } from "../core/state.ts";
import type { Keyed, RowsOf } from "./sessions-and-locks.ts";

interface Known {
  readonly state: State;
  readonly now: number;
}

/** Declarations that hold, in the order they began; of a session those of its agents. */
export function* declarationRows(
  { state, now }: Known,
  { id }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const { declarations } = state;
  const all = id === undefined ? [...declarations.live.values()] : declarationsOf(declarations, id);
  for (const one of all.sort((a, b) => a.declaredAt - b.declaredAt)) {
    yield { place: one.declaredAt, key: noteKey(one), row: () => declarationRow(one, now) };
  }
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
