/** Begins the daemon anew, so that it reads the setting of the store. */
import { rmSync } from "node:fs";
import { NotRunning } from "../../client/errors.ts";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { granted } from "../context/with-daemon.ts";
import { daemonProgram } from "../version.ts";

/** Stops the daemon if one runs, and starts one; sessions keep what they hold. Throws if that fails. */
export async function restartDaemon(world: ProcessContext): Promise<void> {
  const { paths, env } = world;
  try {
    const client = await world.connect({ name: "kite store", reconnect: false });
    const refusal = await stopDaemon(client, true);
    if (refusal !== null) granted(refusal);
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
  }
  rmSync(paths.downFile, { force: true });
  const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite store" });
  client.close();
}
