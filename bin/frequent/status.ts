/** `kite status` in one file: see build.mjs. */
import { run } from "../program.ts";

/** Runs the command line `typed`, which is one of `kite status`. */
export function start(typed: readonly string[]): Promise<void> {
  return run(typed, { status: { description: "", load: () => import("../commands/status.ts") } });
}
