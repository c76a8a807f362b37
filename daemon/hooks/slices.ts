/** The list of slices for hooks: what does each action, and who joins in at the points of the base, in this order. */
import type { HookAction } from "../../hooks/seam/slices.ts";
import { trustedIn } from "../lead/checks/trusted-file.ts";
import { gateActions, gatePart } from "../lead/gates/hooks.ts";
import { healthPart } from "../lead/health/hooks.ts";
import { mergePart } from "../lead/merges/hooks.ts";
import { rolePart } from "../lead/roles/hooks.ts";
import { type LeadServices, leadServices, trustedReader } from "../lead/services.ts";
import { spawnPart } from "../lead/spawns/hooks.ts";
import { teamActions, teamPart } from "../lead/teams/hooks.ts";
import { rescueActions, rescuePart } from "../rescue/hooks.ts";
import type { Services } from "../services.ts";
import type { ActionHandler } from "./action.ts";
import { baseActions } from "./base-actions.ts";
import { branchPart } from "./branch-looks.ts";
import { type HookServices, type HookServicesOptions, hookServices } from "./hook-services.ts";
import { type HookPart, hookPoints } from "./points.ts";

export const actionHandlers: { readonly [D in HookAction["do"]]: ActionHandler<D> } = {
  ...baseActions,
  ...gateActions,
  ...teamActions,
  ...rescueActions,
};

const parts: readonly HookPart<HookServices>[] = [
  branchPart,
  gatePart,
  rolePart,
  teamPart,
  spawnPart,
  mergePart,
  healthPart,
];
const pointsWithRescue = hookPoints<HookServices>([...parts, rescuePart]);
const pointsWithout = hookPoints<HookServices>(parts);

/** Returns `services` with those of hooks, of both halves. */
export function allHookServices(services: Services, options: HookServicesOptions): LeadServices {
  const trusted = trustedReader(options);
  const points = options.config.values.rescue === "off" ? pointsWithout : pointsWithRescue;
  const base = hookServices(services, { ...options, trusted, trustedIn, points });
  return leadServices(base, { ...options, trusted });
}
