/** `kite lock` and `kite task` in one file: see bundle.mjs. They share so much that two would double its size. */
import { lock, task } from "../frequent-commands.ts";
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is one of `kite lock` or of `kite task`. */
export function start(): Promise<void> {
  return runHere({ lock, task });
}
