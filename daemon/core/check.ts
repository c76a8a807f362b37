/** The invariants of every slice as one function; the simulation calls it after each step. */

import { checkDeclarations } from "./declarations/check.ts";
import { checkRisks, checkWrites } from "./files/check.ts";
import { checkResults } from "./lead/checks/table.ts";
import { checkDebates } from "./lead/debates/check.ts";
import { checkMismatches } from "./lead/declarations/check.ts";
import { checkMerges } from "./lead/merges/check.ts";
import { checkSpawns } from "./lead/spawns/check.ts";
import { checkLocks } from "./locks/check.ts";
import { checkTalk } from "./messages/check.ts";
import { checkNotes } from "./messages/check-notices.ts";
import { checkSessions } from "./sessions/check.ts";
import { checkStashes } from "./stashes/table.ts";
import type { State } from "./state.ts";
import { checkTasks } from "./tasks/check.ts";

/** The slices of the state, each with the function that finds its broken invariants. */
const slices = {
  sessions: checkSessions,
  locks: checkLocks,
  tasks: checkTasks,
  writes: function* (state: State): Generator<string> {
    yield* checkWrites(state);
    yield* checkRisks(state);
  },
  notes: checkNotes,
  declarations: function* (state: State): Generator<string> {
    yield* checkDeclarations(state);
    yield* checkMismatches(state);
  },
  talk: checkTalk,
  debates: checkDebates,
  checks: ({ checks, seq }: State) => checkResults(checks, seq),
  spawns: checkSpawns,
  merges: checkMerges,
  stashes: ({ stashes, seq }: State) => checkStashes(stashes, seq),
} as const;

export type Slice = keyof typeof slices;

/** Returns one sentence per broken invariant of these slices; empty if all hold. */
export function check(state: State, of: readonly Slice[] = allSlices): string[] {
  return of.flatMap(slice => [...slices[slice](state)]);
}

const allSlices = Object.keys(slices) as Slice[];
