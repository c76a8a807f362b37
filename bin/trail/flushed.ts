/** Lets the daemon write the trail's newest lines, which it collects for a moment, before a command reads them. */
import { LocalError } from "../../client/errors.ts";
import type { Client, ProcessContext } from "../process-context.ts";

/** How long a command waits for the daemon to connect, and again to answer, in milliseconds. */
const waitMs = 1_000;

/**
 * Resolves when the trail has all that the daemon decided before this call, or when it is known that no daemon runs or answers:
 * the command then reads the files as they are. `client`: null: no daemon runs; absent: this function connects to it.
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
