/**
 * The list of the slices of the core, of both halves. Each says what it does at its commands, its timers and the base's
 * points, and which invariants its tables keep.
 */

import {
  daemonRules,
  declarationRules,
  lockRules,
  sessionRules,
  sharedPartRules,
  talkRules,
  taskRules,
  writeRules,
} from "./dispatch.ts";
import {
  checkContext,
  checkDeclarations,
  checkFreezes,
  checkLocks,
  checkMessages,
  checkNotes,
  checkRisks,
  checkSessions,
  checkTasks,
  checkWrites,
} from "./invariants.ts";
import { checkRules } from "./lead/checks.ts";
import { checkDebates, debateRules } from "./lead/debates.ts";
import { checkMismatches, comparisonRules } from "./lead/declarations.ts";
import { healthRules } from "./lead/health.ts";
import { checkMerges, checkMergesThere, mergeRules } from "./lead/merges.ts";
import { checkRoles, checkRolesSent, roleRules } from "./lead/roles.ts";
import { checkSpawns, spawnRules } from "./lead/spawns.ts";
import { checkResults } from "./lead/tables/roles.ts";
import { checkMembers, checkTeammates, teamRules } from "./lead/teams.ts";
import { checkSharings, sharingRules } from "./sharing.ts";
import type { State, TableName } from "./state.ts";
import { checkReplies } from "./tables/base-state.ts";
import { checkHeads } from "./tables/heads.ts";
import { checkCommits, checkStashes } from "./tables/uncommitted.ts";
import { commitAuthorRules } from "./work/commits.ts";
import { headRules } from "./work/head-moves.ts";
import { stashRules } from "./work/losses.ts";
import { checkParts } from "./work/shared-parts.ts";

/** A later one may handle a command of an earlier one, whose handler it then calls. */
export const ruleList = [
  daemonRules,
  lockRules,
  sessionRules,
  writeRules,
  stashRules,
  commitAuthorRules,
  headRules,
  taskRules,
  declarationRules,
  sharedPartRules,
  talkRules,
  comparisonRules,
  checkRules,
  debateRules,
  roleRules,
  spawnRules,
  teamRules,
  healthRules,
  mergeRules,
  sharingRules,
] as const;

type Check = (state: State) => Iterable<string>;

/** Finds the broken invariants of each table; a missing one does not compile. */
const checks: { readonly [N in TableName]: Check } = {
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
  context: checkContext,
  messages: checkMessages,
  freezes: checkFreezes,
  debates: checkDebates,
  checks: checkResults,
  spawns: checkSpawns,
  merges: checkMerges,
  mergesThere: checkMergesThere,
  stashes: checkStashes,
  commits: checkCommits,
  heads: checkHeads,
  parts: checkParts,
  sharings: checkSharings,
  replies: checkReplies,
};

/** Returns one sentence per broken invariant of these tables; empty if all hold. The simulation calls it after each step. */
export function check(state: State, of: Iterable<TableName> = Object.keys(checks) as TableName[]): string[] {
  return [...of].flatMap(table => [...checks[table](state)]);
}
