/** The list of what the leading half brings to the daemon's hooks, requests, trail and wiring. */

import type { Kept } from "./hooks/parts.ts";
import type { HookPart } from "./hooks/points.ts";
import { checkHandlers, checkTargets } from "./lead/checks.ts";
import { mergeLines, spawnLines } from "./lead/columns.ts";
import { debateHandlers } from "./lead/debates.ts";
import { askedParts, gateActions, gatePart, gateTargets, qualityGate, roleGate } from "./lead/gates.ts";
import { healthPart, releaseHandlers } from "./lead/health.ts";
import {
  mergeHandlers,
  mergePart,
  mergeStats,
  mergeTargets,
  returnsOwedTasks,
  unbindsLateRunners,
} from "./lead/merges.ts";
import { roleHandlers, rolePart, takesSentRoles, tellsLeads } from "./lead/roles.ts";
import { type LeadParts, type LeadServices, leadParts, trustedReader } from "./lead/services.ts";
import { trustedIn } from "./lead/settings.ts";
import {
  claimsSharedTasks,
  followsSharedTasks,
  type SpawnServices,
  spawnHandlers,
  spawnPart,
  spawnServices,
  spawnTargets,
} from "./lead/spawns.ts";
import { teamActions, teamPart } from "./lead/team-gate.ts";
import { teamTargets } from "./lead/team-rows.ts";
import type { Services } from "./options.ts";

/** What does each of its actions. */
export const leadActions = { ...gateActions, ...teamActions };

/** Returns who joins in at the points of hooks, in this order. */
export function leadPoints(services: Services, parts: Kept<LeadParts>): readonly HookPart[] {
  const all = [gatePart, rolePart, teamPart, spawnPart, mergePart, healthPart];
  return all.map(make => make(services, parts));
}

/** What it keeps between events. */
export const leadHooks = { parts: leadParts, trustedReader, trustedIn };

export type LeadingParts = LeadParts;

/** The services of its handlers. */
export type LeadingServices = LeadServices & SpawnServices;
export const requestServices = spawnServices;

export const leadHandlers = {
  ...checkHandlers,
  ...debateHandlers,
  ...releaseHandlers,
  ...mergeHandlers,
  ...roleHandlers,
  ...spawnHandlers,
};

export const leadTargets = {
  ...teamTargets,
  ...checkTargets,
  ...spawnTargets,
  ...mergeTargets,
  ...gateTargets,
};

/** What it adds to `stats`, to the rules for tasks, and to the answer to a declaration. */
export const statsColumns = [mergeStats];
export const taskGates = [roleGate, qualityGate];
export const declareParts = [askedParts];

export const leadLines = { ...spawnLines, ...mergeLines };

export const leadListeners = [unbindsLateRunners, claimsSharedTasks, returnsOwedTasks];

/** They hear of shared projects. */
export const leadFollowers = [followsSharedTasks, takesSentRoles, tellsLeads, returnsOwedTasks];
