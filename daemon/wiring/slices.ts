/** The list of the services and the listeners that leading features bring. */
import { unbindsLateRunners } from "../lead/merges/late-runner.ts";
import { takesSentRoles } from "../lead/roles/elsewhere.ts";
import { spawnServices } from "../lead/spawns/services.ts";
import { claimsSharedTasks, followsSharedTasks } from "../lead/spawns/shared-task.ts";

export const leadServices = spawnServices;

export const leadListeners = [unbindsLateRunners, claimsSharedTasks];

/** They hear both logs of a machine that shares one: `own` its own, `shared` the shared one. */
export const leadFollowers = [followsSharedTasks, takesSentRoles];
