/** Begins to look at the processes of sessions, and at the daemon's own place. */

import { keepUnseen } from "../config/seen-files.ts";
import { AnchorWatch } from "../facts/processes.ts";
import { HookFailures } from "../hooks/failures-file.ts";
import type { Instance } from "../instance/instance.ts";
import type { DaemonOptions } from "../options.ts";
import { Life } from "../sessions/liveness.ts";
import type { OpenLog, Troubles } from "./log.ts";
import type { Built } from "./services.ts";

/** Returns the life of the daemon; `stop` ends it. */
export function beginLife(
  { paths, config }: DaemonOptions,
  instance: Instance,
  { server, journal }: OpenLog,
  { services, kept }: Built,
  { onTrouble }: Troubles,
  stop: (why: string) => void,
): Life {
  const { hookWakes, points, adapters } = services;
  try {
    keepUnseen(paths);
  } catch (error) {
    onTrouble("could not keep copies of the settings", error);
  }
  const failures = new HookFailures(paths.hookFailures, onTrouble);
  const life = new Life({
    services,
    anchors: new AnchorWatch(),
    get idleExitMs() {
      return config.values.idleExitMs;
    },
    stillOurs: () => instance.stillOurs(),
    verifyJournal: () => journal.verify(),
    onAlive: () => {
      services.seenFiles.changed();
      // Hook clients do not come here while Kite is off everywhere.
      services.offSwitches.read();
      failures.clear();
      kept.saveSoon();
      server.checkDescriptors();
    },
    isConnected: () => {
      for (const { isOnlooker } of server.connections) if (!isOnlooker) return true;
      return false;
    },
    forget: session => {
      hookWakes.forget(session);
      for (const part of points.sessionGone) part.sessionGone(services, session);
    },
    stopped: (session, isStopped) => {
      for (const part of points.processStopped) part.processStopped(services, session, isStopped);
    },
    idleEndMs: client => adapters.get(client)?.limits.idleEndMs ?? null,
    stop,
  });
  server.net.on("connection", () => life.connected());
  return life;
}
