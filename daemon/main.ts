/** Builds the daemon: instance, journal, engine, services, server. A stop ends them in the opposite order. */

import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import { protocolVersion } from "../protocol/schemas/requests.ts";
import type { Log } from "./engine/engine.ts";
import { processAnchor } from "./facts/processes.ts";
import type { UnhookedWatch } from "./hooks/edits/unhooked-watch.ts";
import { writeNamespaces } from "./instance/foreign-home.ts";
import type { Instance } from "./instance/instance.ts";
import { type Listening, listenPrivately, writeDaemonFile } from "./instance/socket.ts";
import { writeStoreMark } from "./journal/store-mark.ts";
import type { DaemonOptions, RunningDaemon } from "./options.ts";
import { run as handle } from "./requests/handlers.ts";
import type { Rescue } from "./rescue/services.ts";
import { saveEvents } from "./server/event-ring.ts";
import type { EventHub } from "./server/events.ts";
import type { Server } from "./server/server.ts";
import type { Life } from "./sessions/liveness.ts";
import type { PresenceFile } from "./sessions/presence-file.ts";
import type { Trail } from "./trail/trail.ts";
import { beginLife, buildServices, hearSteps, openLog, type Troubles, takeEnds } from "./wiring.ts";

// Ends a daemon: closes its parts in the opposite order of their start.

interface Parts {
  readonly paths: KitePaths;
  readonly kept: PresenceFile;
  readonly instance: Instance;
  readonly life: Life;
  readonly unhooked: Pick<UnhookedWatch, "close">;
  readonly listening: Listening;
  readonly engine: Log;
  /** Moves to the store and back end before the logs do; null: no store is set. */
  readonly shared: { close(): void } | null;
  readonly events: EventHub;
  readonly server: Server;
  readonly trail: Trail;
  readonly rescue: Rescue | null;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Resolves when every part is closed and another daemon may start. */
async function stopAll(parts: Parts): Promise<void> {
  const {
    paths,
    kept,
    instance,
    life,
    unhooked,
    listening,
    engine,
    shared,
    events,
    server,
    trail,
    rescue,
    onTrouble,
  } = parts;
  life.close();
  unhooked.close();
  instance.watchSocket(null);
  const closed = listening.close();
  shared?.close();
  try {
    await engine.close();
  } catch (error) {
    // Every acknowledged entry is in the journal already; the next start replays it.
    onTrouble("the journal could not be closed in order", error);
  }
  try {
    // If the folder is no longer this daemon's, another daemon may keep its own file there.
    if (instance.stillOurs()) {
      writeStoreMark(paths, engine.state, onTrouble);
      saveEvents(paths.events, events.kept);
      kept.save();
    }
  } catch (error) {
    // Subscribers that come back get `lagged`.
    onTrouble("the events for returning subscribers could not be saved", error);
  }
  server.endAll();
  const force = setTimeout(() => server.destroyAll(), limits.shutdownMs / 4);
  await closed;
  clearTimeout(force);
  await rescue?.close();
  await trail.close();
  await instance.release();
}

/** Runs until it is stopped; `instance` proves that this process is the only daemon. */
export async function runDaemon(options: DaemonOptions, instance: Instance): Promise<RunningDaemon> {
  const { paths, log } = options;
  let stopNow: (cause: Error | null) => void = () => {};
  const stopping = new Promise<Error | null>(resolve => {
    stopNow = resolve;
  });
  const troubles: Troubles = {
    onTrouble: (message, error) => log.error({ err: error }, message),
    onFatal: error => {
      log.fatal({ err: error }, "the daemon cannot go on");
      stopNow(error);
    },
  };
  const stop = (why: string) => {
    log.info({ why }, "stopping");
    stopNow(null);
  };

  const opened = await openLog(options, troubles);
  const { engine, server, turns, events, trail } = opened;
  const built = buildServices(options, opened, troubles, stop);
  const { services, kept, unhooked } = built;
  const life = beginLife(options, instance, opened, built, troubles, stop);
  hearSteps(opened, built, life);
  const takeEndsAgain = await takeEnds(options, built, troubles);
  server.serve({
    engine,
    turns,
    counters: services.counters,
    facts: services.facts,
    handle: (type, request, call) => handle(services, type, request, call),
    drained: connection => events.drained(connection),
  });
  const listening = await listen(options, server, engine, instance);
  void takeEndsAgain();

  const done = stopping.then(async cause => {
    const { onTrouble } = troubles;
    const { rescue } = services;
    await stopAll({
      paths,
      kept,
      instance,
      life,
      unhooked,
      listening,
      engine,
      shared: services.shared,
      events,
      server,
      trail,
      rescue,
      onTrouble,
    });
    log.info({ cause: cause?.name ?? "asked" }, "stopped");
    return cause;
  });
  return { done, stop };
}

/** Listens, and writes which daemon does for clients and into the log. */
async function listen(
  { paths, version, log }: DaemonOptions,
  { net }: Server,
  { state }: Log,
  instance: Instance,
): Promise<Listening> {
  writeNamespaces(paths);
  const listening = await listenPrivately(net, paths);
  instance.watchSocket(listening.fileId);
  const { seq, epoch, storeId } = state;
  const [pid, { socket }] = [process.pid, paths];
  const startTime = processAnchor(pid)?.startTime ?? "";
  writeDaemonFile(paths, { pid, startTime, version, protocol: protocolVersion, storeId, epoch, socket });
  log.info({ version, pid, socket, epoch, seq, lock: instance.method }, "listening");
  return listening;
}
