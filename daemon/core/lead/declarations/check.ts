/** What must hold of mismatches; part of `check`. */
import type { BaseState } from "../../base-state.ts";
import { isSame } from "../../same-index.ts";
import { clientWord } from "../../sessions/agent-names.ts";
import { mismatchesIn } from "./mismatches.ts";

/** Yields one sentence per broken invariant. */
export function* checkMismatches(state: BaseState): Generator<string> {
  for (const [key, one] of state.declarations.live)
    if (!isSame(one.mismatches, mismatchesIn(one, clientWord(state, one))))
      yield `the mismatches of ${key} are not those that there are`;
}
