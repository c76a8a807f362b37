/** `kite lock` in one file: see build.mjs. */
import { run } from "../program.ts";

/** Runs the command line `typed`, which is one of `kite lock`. */
export function start(typed: readonly string[]): Promise<void> {
  return run(typed, { lock: { description: "", load: () => import("../commands/lock.ts"), acts: true } });
}
