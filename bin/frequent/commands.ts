/** `kite lock`, `kite status` and `kite task` in one file: see bundle.mjs. They share most of their code. */
import { lock, status, task } from "../frequent-commands.ts";
import { runHere } from "../program.ts";

/** Runs the command line of this process, which is of one of them. */
export function start(): Promise<void> {
  return runHere({ lock, status, task });
}
