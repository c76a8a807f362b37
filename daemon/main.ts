/** Builds the daemon: instance, journal, engine, services, server. `stop.ts` ends them in the opposite order. */
import { protocolVersion } from "../protocol/schemas/requests.ts";
import { processAnchor } from "./facts/processes.ts";
import { writeDaemonFile } from "./instance/daemon-file.ts";
import { writeNamespaces } from "./instance/foreign-home.ts";
import type { Instance } from "./instance/instance.ts";
import { listenPrivately } from "./instance/socket.ts";
import type { DaemonOptions, RunningDaemon } from "./options.ts";
import { run as handle } from "./requests/handlers.ts";
import { stopAll } from "./stop.ts";
import { takeEnds } from "./wiring/ends.ts";
import { beginLife } from "./wiring/life.ts";
import { openLog, type Troubles } from "./wiring/log.ts";
import { buildServices } from "./wiring/services.ts";
import { hearSteps } from "./wiring/steps.ts";

/** Runs until it is stopped; `instance` proves that this process is the only daemon. */
export async function runDaemon(options: DaemonOptions, instance: Instance): Promise<RunningDaemon> {
  const { paths, version, log } = options;
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
  writeNamespaces(paths);
  const listening = await listenPrivately(server.net, paths);
  instance.watchSocket(listening.fileId);
  const { seq, epoch, storeId } = engine.state;
  const [pid, { socket }] = [process.pid, paths];
  const startTime = processAnchor(pid)?.startTime ?? "";
  writeDaemonFile(paths, { pid, startTime, version, protocol: protocolVersion, storeId, epoch, socket });
  log.info({ version, pid, socket, epoch, seq, lock: instance.method }, "listening");
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
