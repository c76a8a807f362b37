/** What is said of a declaration when it is made: see `core/rules.ts`. */

import { compared } from "../../declarations/compare.ts";
import type { Whose } from "../../messages/notice-table.ts";
import type { Rules } from "../../rules.ts";
import { isSame } from "../../same-index.ts";
import { isShortId } from "../../sessions/agent-names.ts";
import type { State } from "../../state.ts";
import { type ClientWord, mismatchesIn } from "./mismatches.ts";
import { missingIn } from "./missing.ts";

export const comparisonRules: Rules<object, State> = {
  commands: {},
  points: {
    mismatchesIn: (state, declaration) => mismatchesIn(declaration, clientWord(state, declaration)),
    declaredFields: (_state, declaration) => ({ missing: missingIn(declaration) }),
  },
};

/** Returns what the client says of an agent. */
function clientWord(state: State, { session: id, agent }: Whose): ClientWord {
  const session = state.sessions.live.get(id);
  const teammate = state.teammates.get(id)?.get(agent);
  if (teammate !== undefined) return teammate;
  const name = agent === null ? undefined : session?.agents.get(agent);
  const isSaid = name !== undefined && agent !== null && !isShortId(name, agent);
  return { name: isSaid ? name : null, team: null };
}

/** Yields a sentence for each declaration whose mismatches are not those that there are. */
export function* checkMismatches(state: State): Generator<string> {
  for (const [key, one] of state.declarations.live)
    if (!isSame(one.mismatches, compared(state, one).mismatches))
      yield `the mismatches of ${key} are not those that there are`;
}
