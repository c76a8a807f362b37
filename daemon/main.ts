/** The daemon: instance guard, journal, engine, server; stopped in the opposite order. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import type { Logger } from "pino";
import type { HookAdapter } from "../hooks/seam/plan.ts";
import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import { protocolVersion } from "../protocol/requests.ts";
import type { Config } from "./config/config.ts";
import { SilenceReader } from "./config/off-switch.ts";
import { ProjectRules } from "./config/project-rules.ts";
import type { Entry } from "./core/commands.ts";
import type { Step } from "./core/outcome.ts";
import type { State } from "./core/state.ts";
import { systemClock } from "./engine/clock.ts";
import { Engine } from "./engine/engine.ts";
import { EventHub } from "./events/hub.ts";
import { loadEvents, saveEvents } from "./events/ring-file.ts";
import { outsideFacts } from "./facts/facts.ts";
import { Outside } from "./facts/filesystem.ts";
import { GitChild } from "./facts/git-process.ts";
import { GitProgram } from "./facts/git-program.ts";
import { AnchorWatch, processAnchor } from "./facts/processes.ts";
import { HookLocks } from "./hooks/edit-lock.ts";
import { HookFailures } from "./hooks/failures-file.ts";
import { GuardTold } from "./hooks/git-guard-memory.ts";
import { HookNotes } from "./hooks/notices.ts";
import { RiskNotes } from "./hooks/risk-notices.ts";
import { Guarded } from "./hooks/running-git-commands.ts";
import { ToolUses } from "./hooks/tool-uses.ts";
import { HookWakes } from "./hooks/wake.ts";
import { writeDaemonFile } from "./instance/daemon-file.ts";
import { acquireInstance, type Instance } from "./instance/instance.ts";
import { listenPrivately, unlinkStaleSocket } from "./instance/socket.ts";
import { FileJournal } from "./journal/file-journal.ts";
import type { Journal } from "./journal/journal.ts";
import { type HandlerServices, run as handle } from "./requests/handlers.ts";
import { Server } from "./server/server.ts";
import { Turns } from "./server/turns.ts";
import { Life } from "./sessions/liveness.ts";
import { PresenceTable } from "./sessions/presence.ts";
import { trailOf } from "./trail/from-events.ts";
import { Recorder } from "./trail/recorder.ts";
import { Trail } from "./trail/trail.ts";
import { Baselines } from "./worktree/baselines.ts";
import { Suspicions } from "./worktree/suspicions.ts";
import { Writers } from "./worktree/writers.ts";

export interface DaemonOptions {
  readonly paths: KitePaths;
  readonly version: string;
  readonly config: Pick<Config, "values" | "yieldFollows">;
  readonly adapter: HookAdapter | null;
  readonly log: Logger;
  /** A hook starts it: not where `kite down` was said, be it meanwhile. */
  readonly unlessDown?: boolean;
  /** Another log than the file's, for measurements. */
  readonly journal?: Journal;
  /** Another filesystem and another git than the machine's, for tests. */
  readonly outside?: Outside;
  readonly git?: GitChild;
}

export type Started =
  | { readonly is: "started"; readonly daemon: RunningDaemon }
  | { readonly is: "held" }
  | { readonly is: "refused"; readonly error: string };

export interface RunningDaemon {
  /** Resolves when everything is closed; with the error that ended it, if one did. */
  readonly done: Promise<Error | null>;
  stop(why: string): void;
}

/** Sessions, keys and anchors of this machine carry this name; other machines' would carry theirs. */
const node = "local";

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
    const daemon = await run(options, acquired.instance);
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

async function run(options: DaemonOptions, instance: Instance): Promise<RunningDaemon> {
  const { paths, version, config, adapter, log } = options;
  const clock = systemClock();
  let stopNow: (cause: Error | null) => void = () => {};
  const stopping = new Promise<Error | null>(resolve => {
    stopNow = resolve;
  });
  const onTrouble = (message: string, error: unknown) => log.error({ err: error }, message);
  const onFatal = (error: Error) => {
    log.fatal({ err: error }, "the daemon cannot go on");
    stopNow(error);
  };
  const trail = new Trail(paths.trail, { onError: error => onTrouble("the trail cannot be written", error) });
  const journal = options.journal ?? new FileJournal({ dir: paths.journal });
  const server = new Server(onTrouble);
  const turns = new Turns();
  const events = new EventHub(() => server.connections, turns);
  const presence = new PresenceTable(clock);
  const hookWakes = new HookWakes();
  let life: Life | null = null;
  const onStep = (entry: Entry, step: Step, state: State, replayed: boolean) => {
    if (replayed) {
      events.recall(state.epoch, entry.seq, step);
      return;
    }
    events.publish(state.epoch, entry.seq, step);
    if (entry.command.type === "session_begin") git.workedIn(placesOf(entry.command));
    for (const { event } of step.events) {
      if ("id" in event) life?.follow(event.id);
    }
    hookWakes.stepped(entry.command.type, step.events);
    for (const line of trailOf(step.events, clock.wall())) trail.write(line);
  };
  const git: GitProgram = new GitProgram({ env: process.env, workedIn: () => directoriesOf(engine.state) });
  const counters = { requests: 0, refused: 0 };
  const storeId = randomBytes(5).toString("hex");
  const before = loadEvents(paths.events);
  if (before !== null) events.take(before);
  const engine = await Engine.start({ journal, clock, node, storeId, onStep, onTrouble, onFatal });
  const outside = options.outside ?? new Outside();
  const facts = outsideFacts(
    outside,
    options.git ?? new GitChild(process.env, git),
    adapter?.agentFile ?? null,
  );
  const services: HandlerServices = {
    node,
    version,
    startedAt: clock.now(),
    socket: paths.socket,
    engine,
    clock,
    presence,
    facts,
    events,
    recorder: new Recorder(trail),
    adapter,
    silence: new SilenceReader(paths.home),
    hookWaitMs: config.values.lockWaitMs,
    rules: new ProjectRules({
      config,
      configFile: paths.config,
      outside,
      repository: facts.repository,
      onProblem: problem => log.warn(problem),
    }),
    treeGuard: config.values.treeGuard,
    hookLocks: new HookLocks(),
    hookNotes: new HookNotes(),
    hookWakes,
    writers: new Writers(),
    riskNotes: new RiskNotes(),
    toolUses: new ToolUses(),
    baselines: new Baselines(facts),
    suspicions: new Suspicions(clock),
    guardTold: new GuardTold(),
    guarded: new Guarded(),
    counters,
    hookCounts: new Map(),
    connections: () => server.connections,
    journal: () => journal.health,
    stop: why => {
      log.info({ why }, "stopping");
      stopNow(null);
    },
  };
  const anchors = new AnchorWatch();
  const failures = new HookFailures(paths.hookFailures, onTrouble);
  life = new Life({
    services,
    anchors,
    idleExitMs: config.values.idleExitMs,
    stillOurs: () => instance.stillOurs(),
    verifyJournal: () => journal.verify(),
    onAlive: () => {
      failures.clear();
      server.checkDescriptors();
    },
    isConnected: () => server.connections.size > 0,
    forget: session => hookWakes.forget(session),
    stop: services.stop,
  });
  server.serve({
    engine,
    turns,
    counters,
    handle: (type, request, call) => handle(services, type, request, call),
    drained: connection => events.drained(connection),
  });
  const listening = await listenPrivately(server.net, paths);
  instance.watchSocket(listening.fileId);
  writeDaemonFile(paths, {
    pid: process.pid,
    startTime: processAnchor(process.pid)?.startTime ?? "",
    version,
    protocol: protocolVersion,
    storeId: engine.state.storeId,
    epoch: engine.epoch,
    socket: paths.socket,
  });
  const { seq, epoch } = engine.state;
  log.info(
    { version, pid: process.pid, socket: paths.socket, epoch, seq, lock: instance.method },
    "listening",
  );

  const done = stopping.then(async cause => {
    life?.close();
    instance.watchSocket(null);
    const closed = listening.close();
    try {
      await engine.close();
    } catch (error) {
      // Everything acknowledged is in the journal already; the next start reads it from there.
      onTrouble("the journal could not be closed in order", error);
    }
    try {
      // In a folder that is not ours any more another daemon may keep its own.
      if (instance.stillOurs()) saveEvents(paths.events, events.kept);
    } catch (error) {
      // Subscribers who come back are told to look anew.
      onTrouble("the events for those who come back could not be kept", error);
    }
    server.endAll();
    const force = setTimeout(() => server.destroyAll(), limits.shutdownMs / 4);
    await closed;
    clearTimeout(force);
    await trail.close();
    await instance.release();
    log.info({ cause: cause?.name ?? "asked" }, "stopped");
    return cause;
  });
  return { done, stop: services.stop };
}

/** Whether a daemon accepts connections there: then there is nobody to wait for. */
function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(socket, () => done(true));
    const done = (answer: boolean) => {
      probe.destroy();
      resolve(answer);
    };
    probe.once("error", () => done(false));
  });
}

interface Places {
  readonly cwd: string;
  readonly worktree: string;
  readonly project: string;
}

function placesOf({ cwd, worktree, project }: Places): readonly string[] {
  return [cwd, worktree, project];
}

function* directoriesOf(state: State): Generator<string, void> {
  for (const session of state.sessions.live.values()) yield* placesOf(session);
}
