/** A daemon starts where no other one runs. */
import { existsSync } from "node:fs";
import { limits } from "../protocol/limits.ts";
import { acquireInstance } from "./instance/instance.ts";
import { answers, unlinkStaleSocket } from "./instance/socket.ts";
import { runDaemon } from "./main.ts";
import type { DaemonOptions, Started } from "./options.ts";

/** Becomes the daemon of `paths.home`, or says that another one is. Throws on a journal that cannot be read. */
export async function startDaemon(options: DaemonOptions): Promise<Started> {
  const { paths } = options;
  const answering = () => answers(paths.socket);
  const acquired = await acquireInstance(paths, { waitMs: limits.startWaitMs, answering });
  if (acquired.is !== "acquired") return acquired;
  try {
    const stale = unlinkStaleSocket(paths);
    if (stale !== null) {
      await acquired.instance.release();
      return stale;
    }
    const daemon = await runDaemon(options, acquired.instance);
    // Now that it listens, and before it has taken a connection: who said so before this found nobody to stop.
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
