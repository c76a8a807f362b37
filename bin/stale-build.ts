import { statSync } from "node:fs";
import type { KitePaths } from "../protocol/paths.ts";
import { daemonProgram } from "./program-paths.ts";

/** Returns true if the daemon's program was built after the running daemon started: versions alone do not show that. */
export function isRebuilt({ daemonFile }: KitePaths, program: string = daemonProgram): boolean {
  const began = statSync(daemonFile, { throwIfNoEntry: false });
  const built = statSync(program, { throwIfNoEntry: false });
  return began !== undefined && built !== undefined && built.mtimeMs > began.mtimeMs;
}
