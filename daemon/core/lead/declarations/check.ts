/** What must hold of mismatches; part of `check`. */
import type { BaseState } from "../../base-state.ts";
import { compared } from "../../declarations/compare.ts";
import { isSame } from "../../same-index.ts";

/** Yields one sentence per broken invariant. */
export function* checkMismatches(state: BaseState): Generator<string> {
  for (const [key, one] of state.declarations.live)
    if (!isSame(one.mismatches, compared(state, one).mismatches))
      yield `the mismatches of ${key} are not those that there are`;
}
