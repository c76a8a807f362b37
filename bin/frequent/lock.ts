/** `kite lock` in one file: see build.mjs. */
import { lock } from "../frequent-commands.ts";
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is one of `kite lock`. */
export function start(): Promise<void> {
  return runHere({ lock });
}
