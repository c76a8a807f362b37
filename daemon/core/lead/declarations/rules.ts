/** What is said of a declaration when it is made: see `core/slices.ts`. */
import type { BaseState } from "../../base-state.ts";
import type { Rules } from "../../handler.ts";
import type { Whose } from "../../messages/notice-table.ts";
import { isShortId } from "../../sessions/agent-names.ts";
import { mismatchesIn, type Said } from "./mismatches.ts";
import { missingIn } from "./missing.ts";

export const comparisonRules: Rules<object> = {
  commands: {},
  points: {
    mismatchesIn: (state, declaration) => mismatchesIn(declaration, clientWord(state, declaration)),
    declaredFields: (_state, declaration) => ({ missing: missingIn(declaration) }),
  },
};

/** Returns what the client says of an agent. */
function clientWord(state: BaseState, { session: id, agent }: Whose): Said {
  const session = state.sessions.live.get(id);
  const teammate = session?.teammates.get(agent);
  if (teammate !== undefined) return teammate;
  const name = agent === null ? undefined : session?.agents.get(agent);
  const isSaid = name !== undefined && agent !== null && !isShortId(name, agent);
  return { name: isSaid ? name : null, team: null };
}
