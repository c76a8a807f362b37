/** The invariants of every slice as one function; the simulation calls it after each step. */

import { checkDeclarations } from "./declarations/check.ts";
import { checkRisks, checkWrites } from "./files/check.ts";
import { checkResults } from "./lead/checks/table.ts";
import { checkDebates } from "./lead/debates/check.ts";
import { checkMismatches } from "./lead/declarations/check.ts";
import { checkMerges } from "./lead/merges/check.ts";
import { checkRoles } from "./lead/roles/given.ts";
import { checkSpawns } from "./lead/spawns/check.ts";
import { checkMembers, checkTeammates } from "./lead/teams/teammates.ts";
import { checkLocks } from "./locks/check.ts";
import { checkContext, checkFreezes, checkMessages } from "./messages/check.ts";
import { checkNotes } from "./messages/check-notices.ts";
import { checkReplies } from "./retries.ts";
import { checkSessions } from "./sessions/check.ts";
import { checkStashes } from "./stashes/table.ts";
import type { Slice, State } from "./state.ts";
import { checkTasks } from "./tasks/check.ts";

/** Finds the broken invariants of each slice; a missing one does not compile. */
const checks: { readonly [S in Slice]: (state: State) => Iterable<string> } = {
  sessions: checkSessions,
  teammates: checkTeammates,
  roles: checkRoles,
  members: checkMembers,
  locks: checkLocks,
  tasks: checkTasks,
  writes: checkWrites,
  risks: checkRisks,
  notes: checkNotes,
  declarations: state => [...checkDeclarations(state), ...checkMismatches(state)],
  context: checkContext,
  messages: checkMessages,
  freezes: checkFreezes,
  debates: checkDebates,
  checks: checkResults,
  spawns: checkSpawns,
  merges: checkMerges,
  stashes: checkStashes,
  replies: checkReplies,
};

/** Returns one sentence per broken invariant of these slices; empty if all hold. */
export function check(state: State, of: Iterable<Slice> = Object.keys(checks) as Slice[]): string[] {
  return [...of].flatMap(slice => [...checks[slice](state)]);
}
