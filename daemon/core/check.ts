/** The invariants of every table as one function; the simulation calls it after each step. */

import { checkBranches } from "./branches/table.ts";
import { checkDeclarations } from "./declarations/check.ts";
import { checkRisks, checkWrites } from "./files/check.ts";
import { checkResults } from "./lead/checks/table.ts";
import { checkDebates } from "./lead/debates/check.ts";
import { checkMismatches } from "./lead/declarations/rules.ts";
import { checkMerges } from "./lead/merges/check.ts";
import { checkMergesThere } from "./lead/merges/elsewhere.ts";
import { checkRolesSent } from "./lead/roles/elsewhere.ts";
import { checkRoles } from "./lead/roles/given-roles.ts";
import { checkSpawns } from "./lead/spawns/check.ts";
import { checkMembers, checkTeammates } from "./lead/teams/teammates.ts";
import { checkLocks } from "./locks/check.ts";
import { checkContext, checkFreezes, checkMessages, checkNotes } from "./messages/check.ts";
import { checkLeases } from "./nodes/table.ts";
import { checkOutbox } from "./outbox/rules.ts";
import { checkReplies } from "./retries.ts";
import { checkSessions } from "./sessions/check.ts";
import { checkStashes } from "./stashes/table.ts";
import type { State, TableName } from "./state.ts";
import { checkTasks } from "./tasks/check.ts";

/** Finds the broken invariants of each table; a missing one does not compile. */
const checks: { readonly [N in TableName]: (state: State) => Iterable<string> } = {
  sessions: checkSessions,
  teammates: checkTeammates,
  roles: checkRoles,
  rolesSent: checkRolesSent,
  members: checkMembers,
  locks: checkLocks,
  tasks: checkTasks,
  writes: checkWrites,
  risks: checkRisks,
  notes: checkNotes,
  declarations: state => [...checkDeclarations(state), ...checkMismatches(state)],
  branches: checkBranches,
  context: checkContext,
  messages: checkMessages,
  freezes: checkFreezes,
  debates: checkDebates,
  checks: checkResults,
  spawns: checkSpawns,
  merges: checkMerges,
  mergesThere: checkMergesThere,
  stashes: checkStashes,
  leases: checkLeases,
  outbox: checkOutbox,
  replies: checkReplies,
};

/** Returns one sentence per broken invariant of these slices; empty if all hold. */
export function check(state: State, of: Iterable<TableName> = Object.keys(checks) as TableName[]): string[] {
  return [...of].flatMap(table => [...checks[table](state)]);
}
