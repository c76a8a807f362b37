/** Gives up a journal that is missing: `kite up --empty`. */
import { rmSync } from "node:fs";
import { acquireInstance } from "../../daemon/instance/instance.ts";
import { beginEmpty, lostStore } from "../../daemon/journal/store-mark.ts";
import { refuseAgent } from "../person.ts";
import type { ProcessContext } from "../process-context.ts";
import { fail } from "../with-daemon.ts";

/**
 * Makes an empty journal in place of a missing one, so that a daemon can start. Returns the exit code of a refusal, or
 * null. A journal that is there is not touched.
 */
export async function beginEmptyStore(world: ProcessContext, json: boolean): Promise<number | null> {
  const { paths } = world;
  const agents = await refuseAgent(world, json, "empty");
  if (agents !== null) return agents;
  const refused = (code: string, error: string) => fail(world, json, code, error);
  const acquired = await acquireInstance(paths);
  if (acquired.is === "held")
    return refused("daemon_runs", "the daemon runs, so nothing begins anew; to stop it: kite down");
  if (acquired.is === "refused") return refused(acquired.code, acquired.error);
  try {
    const lost = lostStore(paths);
    if (lost === null)
      return refused("not_missing", "no journal is missing, so nothing begins anew; start Kite: kite up");
    await beginEmpty(paths, lost);
    // The kept events tell of what is given up.
    rmSync(paths.events, { force: true });
    return null;
  } finally {
    await acquired.instance.release();
  }
}
