/** `kite status` in one file: see build.mjs. */
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is one of `kite status`. */
export function start(): Promise<void> {
  return runHere({ status: { description: "", load: () => import("../commands/status.ts") } });
}
