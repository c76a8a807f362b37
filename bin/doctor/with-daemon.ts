/** Checks that need a daemon. */
import { LocalError } from "../../client/errors.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";

/** Returns what `look` finds over a connection of its own; nothing if no daemon answers, which another check reports. */
export async function withDaemon(
  world: ProcessContext,
  look: (client: Client) => Promise<Check[]>,
): Promise<Check[]> {
  let client: Client;
  try {
    client = await world.connect({ name: "kite doctor" });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return [];
  }
  try {
    return await look(client);
  } finally {
    client.close();
  }
}
