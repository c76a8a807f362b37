/** `kite task` in one file: see build.mjs. */
import { task } from "../frequent-commands.ts";
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is one of `kite task`. */
export function start(): Promise<void> {
  return runHere({ task });
}
