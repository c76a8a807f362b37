/** Every command of `kite`, in chunks: see build.mjs. */
import { commands } from "./command-table.ts";
import { runHere } from "./program.ts";

/** Runs the command line of this process. */
export function start(): Promise<void> {
  return runHere(commands);
}
