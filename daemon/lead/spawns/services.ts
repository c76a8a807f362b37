/** What requests for spawned agents need besides the services of all. */
import type { UserConfig } from "../../config/config.ts";
import type { Services } from "../../services.ts";
import { StartingAgents } from "./starting.ts";

export interface SpawnServices extends Services {
  /** Of the user: how many agents of a project, and how deep, may be spawned; what is wanted for agents that stall. */
  readonly settings: UserConfig;
  readonly startingAgents: StartingAgents;
}

/** Returns them by the user's settings. */
export function spawnServices(settings: UserConfig, base: Services): Omit<SpawnServices, keyof Services> {
  return { settings, startingAgents: new StartingAgents(base) };
}
