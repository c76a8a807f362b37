/** The list of what leading features bring to the base's requests. */
import { checkTargets } from "../lead/checks/rows.ts";
import { askedParts } from "../lead/gates/declared.ts";
import { gateTargets } from "../lead/gates/rows.ts";
import { qualityGate, roleGate } from "../lead/gates/tasks.ts";
import { mergeStats, mergeTargets } from "../lead/merges/rows.ts";
import { spawnTargets } from "../lead/spawns/rows.ts";
import { teamTargets } from "../lead/teams/rows.ts";
import { damageNow, lostNow } from "../rescue/lost-now.ts";
import { rescueTargets } from "../rescue/rows.ts";
import type { DeclarePart } from "./declare-part.ts";
import type { StatsColumn } from "./target.ts";
import type { TaskGate } from "./task-gate.ts";

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
