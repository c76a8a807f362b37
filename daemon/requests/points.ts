/** The list of what leading features bring to the base's requests. */
import { checkTargets } from "../lead/checks.ts";
import { askedParts, gateTargets, qualityGate, roleGate } from "../lead/gates.ts";
import { mergeStats, mergeTargets } from "../lead/merges.ts";
import { spawnTargets } from "../lead/spawns.ts";
import { teamTargets } from "../lead/team-rows.ts";
import { damageNow, lostNow, rescueTargets } from "../rescue/listing.ts";
import type { DeclarePart, StatsColumn, TaskGate } from "./handler.ts";

export const leadTargets = {
  ...teamTargets,
  ...checkTargets,
  ...spawnTargets,
  ...mergeTargets,
  ...gateTargets,
};

export { damageNow, lostNow, rescueTargets };

export const statsColumns: readonly StatsColumn[] = [mergeStats];

export const taskGates: readonly TaskGate[] = [roleGate, qualityGate];

export const declareParts: readonly DeclarePart[] = [askedParts];
