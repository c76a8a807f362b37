/** The list of the services and the listeners that leading features bring. */
import { unbindsLateRunners } from "../lead/merges/late-runner.ts";
import { spawnServices } from "../lead/spawns/services.ts";
import { claimsSharedTasks } from "../lead/spawns/shared-task.ts";

export const leadServices = spawnServices;

export const leadListeners = [unbindsLateRunners, claimsSharedTasks];
