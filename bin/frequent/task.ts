/** `kite task` in one file: see build.mjs. */
import { run } from "../program.ts";

/** Runs the command line `typed`, which is one of `kite task`. */
export function start(typed: readonly string[]): Promise<void> {
  return run(typed, { task: { description: "", load: () => import("../commands/task.ts"), acts: true } });
}
