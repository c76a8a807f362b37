/** Declarations as `query` shows them. */
import type { DeclarationRow } from "../../protocol/declaration.ts";
import { declarationRow } from "../core/declarations/rows.ts";
import { noteKey } from "../core/messages/notice-table.ts";
import type { State } from "../core/state.ts";
import type { Keyed } from "./sessions-and-locks.ts";

interface Known {
  readonly state: State;
  readonly now: number;
}

/** Declarations that hold, in the order they began. */
export function* declarationRows({ state, now }: Known): Generator<Keyed<DeclarationRow>, void> {
  const all = [...state.declarations.live.values()].sort((a, b) => a.declaredAt - b.declaredAt);
  for (const one of all) {
    yield { place: one.declaredAt, key: noteKey(one), row: () => declarationRow(one, now) };
  }
}

/** Declarations that ended, oldest first. */
export function* endedDeclarationRows({ state, now }: Known): Generator<Keyed<DeclarationRow>, void> {
  for (const [n, one] of state.declarations.ended) {
    yield { place: n, key: String(n), row: () => declarationRow(one, now) };
  }
}
