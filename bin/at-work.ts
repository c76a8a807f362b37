/** Which sessions are at work: what a person does then may be in an agent's way. */
import { LocalError } from "../client/errors.ts";
import type { ProcessContext } from "./process-context.ts";
import { clean } from "./view/text.ts";
import { Refused, rowsOf } from "./with-daemon.ts";

/** Returns the names of the sessions in which an agent is active; none if no daemon tells. */
export async function atWork(world: ProcessContext): Promise<readonly string[]> {
  try {
    const client = await world.connect({ name: "kite" });
    try {
      const rows = await rowsOf(client, "sessions");
      const isActive = ({ status }: { readonly status: string }) => status === "active";
      return rows.filter(row => isActive(row) || row.agents.some(isActive)).map(({ name }) => clean(name));
    } finally {
      client.close();
    }
  } catch (error) {
    // A daemon that does not tell its sessions is stopped all the same, which reports what is wrong with it.
    if (error instanceof LocalError || error instanceof Refused) return [];
    throw error;
  }
}
