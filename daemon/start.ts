/** Starts a daemon if no other one runs. */
import { existsSync } from "node:fs";
import { limits } from "../protocol/limits.ts";
import { foreignHomeProblem } from "./instance/foreign-home.ts";
import { acquireInstance } from "./instance/instance.ts";
import { answers, unlinkStaleSocket } from "./instance/socket.ts";
import { lostStoreProblem } from "./journal/store-mark.ts";
import { runDaemon } from "./main.ts";
import type { DaemonOptions, Started } from "./options.ts";

/** Becomes the daemon of `paths.home`, or reports that another one runs. Throws if the journal cannot be read. */
export async function startDaemon(options: DaemonOptions): Promise<Started> {
  const { paths } = options;
  const foreign = foreignHomeProblem(paths, process.env);
  if (foreign !== null) return { is: "refused", error: foreign };
  const answering = () => answers(paths.socket);
  const acquired = await acquireInstance(paths, { waitMs: limits.startWaitMs, answering });
  if (acquired.is !== "acquired") return acquired;
  try {
    const lost = options.journal === undefined ? lostStoreProblem(paths) : null;
    if (lost !== null) {
      await acquired.instance.release();
      return { is: "refused", error: lost };
    }
    const stale = unlinkStaleSocket(paths);
    if (stale !== null) {
      await acquired.instance.release();
      return stale;
    }
    const daemon = await runDaemon(options, acquired.instance);
    // Checked after listening and before the first connection: an earlier `kite down` found no daemon to stop.
    if (options.unlessDown === true && existsSync(paths.downFile)) {
      daemon.stop("kite down was said");
      await daemon.done;
      return { is: "refused", error: "kite down was said while the daemon started; kite up starts it" };
    }
    return { is: "started", daemon };
  } catch (error) {
    await acquired.instance.release();
    throw error;
  }
}
