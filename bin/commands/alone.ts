/** `kite` without a word: the status where there is something to see, else help. */

import { LocalError } from "../../client/errors.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { status } from "./status.ts";

/** How long it looks for a daemon at most. */
const lookMs = 1_000;

/** Shows the status if a person looks and a session or a lock is there; else prints `help`. Returns the exit code, 0. */
export async function statusOrHelp(world: ProcessContext, help: string): Promise<number> {
  if (world.stdout.isTTY === true && (await isBusy(world))) await status(world, false);
  else world.stdout.write(help);
  return 0;
}

async function isBusy(world: ProcessContext): Promise<boolean> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false, timeoutMs: lookMs });
    try {
      const answer = await client.request("overview", {});
      return answer.ok && answer.sessions.rows.length + answer.locks.rows.length > 0;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof LocalError) return false;
    throw error;
  }
}
