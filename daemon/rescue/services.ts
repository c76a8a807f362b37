/** What the daemon has for the rescue of work; null where the person's setting is off: then none of its code runs. */
import type { KitePaths } from "../../protocol/paths.ts";
import type { Config } from "../config/config.ts";
import { pathOfWork } from "../core/files/dirty-files.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { Archive } from "./archive.ts";
import { UnkeptFiles } from "./unkept.ts";

export interface Rescue {
  readonly archive: Archive;
  readonly unkept: UnkeptFiles;
  /** Stops keeping; resolves when what has begun is stored. */
  close(): Promise<void>;
}

export interface RescueServices extends HookServices {
  readonly rescue: Rescue | null;
}

interface RescueOptions {
  readonly paths: Pick<KitePaths, "rescue">;
  readonly config: Pick<Config, "values">;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Opens the store, and does not wait for it. */
export function openRescue(
  { engine, clock }: Pick<HookServices, "engine" | "clock">,
  { paths, config, onTrouble }: RescueOptions,
): Rescue | null {
  if (config.values.rescue === "off") return null;
  const archive = new Archive({
    dir: paths.rescue,
    wall: () => clock.wall(),
    dirtyPaths: () => new Set([...engine.state.writes.files.values()].map(pathOfWork)),
    onTrouble,
  });
  void archive.open();
  return { archive, unkept: new UnkeptFiles(), close: () => archive.close() };
}
