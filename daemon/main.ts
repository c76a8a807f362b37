/** Builds the daemon: instance, journal, engine, services, server. `stop.ts` ends them in the opposite order. */
import { randomBytes } from "node:crypto";
import { limits } from "../protocol/limits.ts";
import { protocolVersion } from "../protocol/requests.ts";
import type { Entry } from "./core/commands.ts";
import type { Bound } from "./core/origin.ts";
import type { Step } from "./core/outcome.ts";
import { systemClock } from "./engine/clock.ts";
import { Engine } from "./engine/engine.ts";
import { EventHub } from "./events/hub.ts";
import { loadEvents } from "./events/ring-file.ts";
import { outsideFacts } from "./facts/facts.ts";
import { BudgetedFs } from "./facts/filesystem.ts";
import { GitChild } from "./facts/git/process.ts";
import { GitProgram } from "./facts/git/program.ts";
import { AnchorWatch, processAnchor } from "./facts/processes.ts";
import { SpawnRoom } from "./facts/spawn-room.ts";
import { forgetEndedLists } from "./hooks/client-task-actions.ts";
import { HookFailures } from "./hooks/failures-file.ts";
import { hookServices } from "./hooks/hook-services.ts";
import { takeUnheardEnds } from "./hooks/unheard-ends.ts";
import { writeDaemonFile } from "./instance/daemon-file.ts";
import type { Instance } from "./instance/instance.ts";
import { listenPrivately } from "./instance/socket.ts";
import { FileJournal } from "./journal/file-journal.ts";
import { markedEpoch, writeStoreMark } from "./journal/store-mark.ts";
import { lateRunner } from "./lead/merges/late-runner.ts";
import type { DaemonOptions, RunningDaemon } from "./options.ts";
import { type HandlerServices, run as handle } from "./requests/handlers.ts";
import { Server } from "./server/server.ts";
import { Turns } from "./server/turns.ts";
import { Life } from "./sessions/liveness.ts";
import { directoriesOf, placesOf } from "./sessions/places.ts";
import { PresenceTable } from "./sessions/presence.ts";
import { PresenceFile } from "./sessions/presence-file.ts";
import { UnseenWatch } from "./sessions/unseen-watch.ts";
import { stopAll } from "./stop.ts";
import { trailOf } from "./trail/from-events.ts";
import { Recorder } from "./trail/recorder.ts";
import { Trail } from "./trail/trail.ts";

/** The name in the log of this machine's sessions, keys and anchors; other machines would have their own. */
const node = "local";

/** Runs until it is stopped; `instance` proves that this process is the only daemon. */
export async function runDaemon(options: DaemonOptions, instance: Instance): Promise<RunningDaemon> {
  const { paths, version, config, adapter, log } = options;
  let stopNow: (cause: Error | null) => void = () => {};
  const stopping = new Promise<Error | null>(resolve => {
    stopNow = resolve;
  });
  const onTrouble = (message: string, error: unknown) => log.error({ err: error }, message);
  const onFatal = (error: Error) => {
    log.fatal({ err: error }, "the daemon cannot go on");
    stopNow(error);
  };
  const stop = (why: string) => {
    log.info({ why }, "stopping");
    stopNow(null);
  };

  const clock = options.clock ?? systemClock();
  const trail = new Trail(paths.trail, { onError: error => onTrouble("the trail cannot be written", error) });
  const journal = options.journal ?? new FileJournal({ dir: paths.journal, epochAfter: markedEpoch(paths) });
  const server = new Server(onTrouble);
  const turns = new Turns();
  const events = new EventHub(() => server.connections, turns);
  const before = loadEvents(paths.events);
  if (before !== null) events.take(before);

  /** Functions that see every step; later parts of the start add theirs. */
  const listeners: ((entry: Entry, step: Step) => void)[] = [
    (_entry, { events }) => {
      for (const line of trailOf(events, clock.wall())) trail.write(line);
    },
  ];
  const onStep = (entry: Entry, step: Step, epoch: number, replayed: boolean) => {
    if (replayed) return events.recall(epoch, entry.seq, step);
    events.publish(epoch, entry.seq, step);
    for (const listener of listeners) listener(entry, step);
  };
  const storeId = randomBytes(5).toString("hex");
  const { snapshotEntries = limits.snapshotEntries } = options;
  const parts = { journal, clock, node, storeId, snapshotEntries };
  const engine = await Engine.start({ ...parts, onStep, onTrouble, onFatal });
  writeStoreMark(paths, engine.state, onTrouble);

  const git = new GitProgram({ env: process.env, workedIn: () => directoriesOf(engine.state) });
  const outside = options.outside ?? new BudgetedFs();
  const gitChild = options.git ?? new GitChild(process.env, git, new SpawnRoom(limits.descriptorsForGit));
  const facts = outsideFacts(outside, gitChild, adapter);
  const presence = new PresenceTable(clock);
  const recorder = new Recorder(trail);
  const kept = new PresenceFile({ path: paths.presence, presence, clock, onTrouble });
  kept.load(engine.state.sessions.live);
  const onProblem = (problem: string) => log.warn(problem);
  const base = { node, engine, clock, facts, presence, recorder };
  const services: HandlerServices = {
    ...hookServices(base, { adapter, paths, config, outside, events, onTrouble, onProblem }),
    version,
    spawnBounds: { liveMax: config.values.spawnMax, depthMax: config.values.spawnDepth },
    stalled: config.values.health.stalled,
    startedAt: clock.now(),
    events,
    counters: { requests: 0, refused: 0 },
    connections: () => server.connections,
    fewDescriptors: () => server.fewDescriptors,
    journal: () => journal.health,
    stop,
  };
  const { counters, hookLocks, hookWakes, health } = services;
  const failures = new HookFailures(paths.hookFailures, onTrouble);
  const life = new Life({
    services,
    anchors: new AnchorWatch(),
    idleExitMs: config.values.idleExitMs,
    stillOurs: () => instance.stillOurs(),
    verifyJournal: () => journal.verify(),
    onAlive: () => {
      failures.clear();
      kept.saveSoon();
      server.checkDescriptors();
    },
    isConnected: () => server.connections.size > 0,
    forget: session => {
      hookWakes.forget(session);
      health.forget(session);
    },
    stopped: (session, isStopped) => health.stopped(session, isStopped),
    stop,
  });
  server.net.on("connection", () => life.connected());
  const isClosed = (bound: Bound) =>
    bound.node === node && bound.epoch === engine.epoch && !server.isOpen(bound.connection);
  listeners.push(
    ({ command }) => {
      if (command.type !== "session_begin") return;
      git.workedIn(placesOf(command));
      // It may have moved to another project, of which no event tells.
      life.follow(command.session);
    },
    ({ command }, { events }) => {
      // A session gets its process, and loses one of several, without an event.
      if (command.type === "session_begin" || command.type === "session_end") life.follow(command.session);
      for (const { event } of events) if ("id" in event) life.follow(event.id);
    },
    ({ command }, step) => hookLocks.locked(engine.state, command, step),
    ({ command }, { events }) => hookWakes.stepped(command.type, events),
    (_entry, { events }) => forgetEndedLists(services, events),
    entry => {
      const bound = lateRunner(entry, isClosed);
      if (bound !== null) engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: clock.wall() });
    },
  );

  const takeEnds = async () => {
    try {
      const lines = await takeUnheardEnds(services, paths.unheardEnds);
      if (lines > 0) log.info({ lines }, "took ends that no daemon had taken");
    } catch (error) {
      onTrouble("ends that no daemon had taken cannot be read", error);
    }
  };
  await takeEnds();
  new UnseenWatch(services, error =>
    onTrouble("agents of before the start cannot be watched", error),
  ).begin();
  server.serve({
    engine,
    turns,
    counters,
    handle: (type, request, call) => handle(services, type, request, call),
    drained: connection => events.drained(connection),
  });
  const listening = await listenPrivately(server.net, paths);
  instance.watchSocket(listening.fileId);
  const { seq, epoch, storeId: store } = engine.state;
  const [pid, { socket }] = [process.pid, paths];
  const startTime = processAnchor(pid)?.startTime ?? "";
  writeDaemonFile(paths, {
    pid,
    startTime,
    version,
    protocol: protocolVersion,
    storeId: store,
    epoch,
    socket,
  });
  log.info({ version, pid, socket, epoch, seq, lock: instance.method }, "listening");
  // Those of hooks that found no socket while this daemon started.
  void takeEnds();

  const done = stopping.then(async cause => {
    await stopAll({ paths, kept, instance, life, listening, engine, events, server, trail, onTrouble });
    log.info({ cause: cause?.name ?? "asked" }, "stopped");
    return cause;
  });
  return { done, stop };
}
