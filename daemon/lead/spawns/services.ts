/** What requests for spawned agents need besides the services of all. */
import type { StalledSetting } from "../../../protocol/lead/spawn.ts";
import type { ConfigValues } from "../../config/config.ts";
import type { Services } from "../../services.ts";

export interface SpawnServices extends Services {
  /** How many agents of a project, and how deep, the user lets be spawned. */
  readonly spawnBounds: { readonly liveMax: number; readonly depthMax: number };
  /** What the user wants for agents that stall. */
  readonly stalled: StalledSetting;
}

/** Returns them by the user's settings. */
export function spawnServices(values: ConfigValues): Omit<SpawnServices, keyof Services> {
  return {
    spawnBounds: { liveMax: values.spawnMax, depthMax: values.spawnDepth },
    stalled: values.health.stalled,
  };
}
