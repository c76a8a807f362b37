/** `kite status` in one file: see build.mjs. */
import { status } from "../frequent-commands.ts";
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is one of `kite status`. */
export function start(): Promise<void> {
  return runHere({ status });
}
