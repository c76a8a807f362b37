/** Lets the daemon write the trail's newest lines, which it collects for a moment, before a command reads them. */
import { LocalError } from "../../client/errors.ts";
import type { Client, ProcessContext } from "../process-context.ts";

/** How long a command waits for the daemon, in milliseconds: of one that does not answer it shows what is written. */
const waitMs = 1_000;

/**
 * Resolves when the trail has all that the daemon decided before this call. It reads as the files are where no daemon runs
 * or answers. `client`: null: none is connected; without it a connection is made.
 */
export async function trailFlushed(world: ProcessContext, client?: Client | null): Promise<void> {
  try {
    if (client !== undefined) {
      await client?.request("trail_flush", {}, { timeoutMs: waitMs });
      return;
    }
    const own = await world.connect({ name: "kite", reconnect: false, onlooker: true, timeoutMs: waitMs });
    try {
      await own.request("trail_flush", {});
    } finally {
      own.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
  }
}
