/** Fetches what a lead's screen shows. */
import { BoundedMap } from "../../../daemon/bounded-map.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";
import type { LeadData } from "../view/lead.ts";
import type { Reader } from "./team.ts";

/** Returns the rows of a project for the reader, whose last look was at `sinceMs` (wall time). */
export async function leadData(
  client: Client,
  project: string,
  reader: Reader | null,
  sinceMs: number,
): Promise<LeadData> {
  const isSharing = client.daemon.sharedStoreId !== undefined;
  const [sessions, locks, tasks, elsewhere] = await Promise.all([
    rowsOf(client, "sessions", { project }),
    rowsOf(client, "locks", { project }),
    rowsOf(client, "tasks", { project }),
    isSharing ? rowsOf(client, "elsewhere", { project }) : null,
  ]);
  const far = elsewhere === null ? {} : { elsewhere };
  return { project, reader, sessions, locks, tasks, sinceMs, ...far };
}

/** When each of several readers looked last. */
export class LastLooks {
  readonly #at = new BoundedMap<string, number>({ entriesMax: limits.leadLooksMax });

  /** Returns the wall time of the reader's last look, and notes that it looks at `now`. */
  next({ id, agent }: Reader, now: number): number {
    const key = JSON.stringify([id, agent]);
    const last = this.#at.get(key) ?? now - limits.leadNewsMs;
    this.#at.set(key, now);
    return last;
  }
}
