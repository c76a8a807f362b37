/** The list of what the leading half adds to the wire: its requests, its events, and what it shows of sessions and agents. */

import { type CheckEvent, checkRequests } from "../lead/check.ts";
import { type DebateEvent, debateRequests } from "../lead/debate.ts";
import { type MergeEvent, mergeRequests } from "../lead/merge.ts";
import { type RoleEvent, releaseRequests, roleRequests } from "../lead/role-set.ts";
import type { RoleColumn } from "../lead/roles.ts";
import { type SpawnColumn, type SpawnEvent, spawnRequests } from "../lead/spawn.ts";
import type { CameBackColumn, HealthColumn, HealthEvent, TeammateColumn } from "../lead/team.ts";

export const leadRequests = {
  ...roleRequests,
  ...releaseRequests,
  ...debateRequests,
  ...checkRequests,
  ...spawnRequests,
  ...mergeRequests,
};

export type LeadEvent = DebateEvent | RoleEvent | CheckEvent | SpawnEvent | MergeEvent | HealthEvent;

/** Columns of the row of an agent, and of a session for its main agent. */
export interface LeadAgentColumns extends HealthColumn, RoleColumn {}

/** Columns of the row of a session. */
export interface LeadSessionColumns extends LeadAgentColumns, CameBackColumn, TeammateColumn, SpawnColumn {}
