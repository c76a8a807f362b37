/** Builds the services of all handlers. */

import { randomBytes } from "node:crypto";
import { limits } from "../protocol/limits.ts";
import { personName } from "../protocol/names.ts";
import { keepUnseen } from "./config/off-switch.ts";
import type { Bound } from "./core/frame/actors.ts";
import { sharedProjects, sharingOf } from "./core/sharing.ts";
import type { CoreEvent, Entry, Step } from "./core/tables/entries.ts";
import { systemClock } from "./engine/clock.ts";
import { Engine, type Log } from "./engine/engine.ts";
import { type Listener, Listeners } from "./engine/log-view.ts";
import { outsideFacts } from "./facts/facts.ts";
import { BudgetedFs } from "./facts/filesystem.ts";
import { GitChild, GitProgram } from "./facts/git/process.ts";
import { SpawnRoom } from "./facts/prober.ts";
import { AnchorWatch } from "./facts/processes.ts";
import { HookFailures } from "./hooks/edits/own-files.ts";
import { UnhookedWatch } from "./hooks/edits/unhooked-watch.ts";
import { keptByHooks, pointsOf, takeUnheardEnds } from "./hooks/run.ts";
import { forgetEndedLists, turnOver } from "./hooks/sessions.ts";
import { wakingSteps } from "./hooks/wake.ts";
import type { Instance } from "./instance/instance.ts";
import { isToken, openPersonToken } from "./instance/socket.ts";
import { FileJournal } from "./journal/file-journal.ts";
import { journalBefore, olderStoreText, shortStart, writeStoreMark } from "./journal/store-mark.ts";
import { leadFollowers, leadListeners, requestServices } from "./leading.ts";
import type { DaemonOptions } from "./options.ts";
import { tellsOverlaps } from "./requests/declarations.ts";
import { Acknowledged } from "./requests/handler.ts";
import type { HandlerServices } from "./requests/handlers.ts";
import { openRescue } from "./rescue/services.ts";
import { compareWithKept, endedFlights, rescuePart } from "./rescue/wiped.ts";
import { Turns } from "./server/call.ts";
import { loadEvents } from "./server/event-ring.ts";
import { EventHub, inboxCommands, inboxEvent } from "./server/events.ts";
import { Server } from "./server/server.ts";
import { type ClaimLog, claimWatch } from "./sessions/claim-watch.ts";
import { Life, sessionEvents, UnseenWatch } from "./sessions/liveness.ts";
import { PresenceTable } from "./sessions/presence.ts";
import { PresenceFile } from "./sessions/presence-file.ts";
import { directoriesOf, placesOf } from "./sessions/proposals.ts";
import { renewNode } from "./store/private-files.ts";
import type { Shared } from "./store/shared.ts";
import { trailOf } from "./trail/from-events.ts";
import type { TrailLine } from "./trail/line.ts";
import { Recorder, Trail } from "./trail/trail.ts";

// Opens the log: its journal and engine, and who hears of its steps.

/** The name in the log of this machine's sessions, keys and anchors; other machines would have their own. */
const node = "local";

/** What hears of the daemon's troubles. */
export interface Troubles {
  readonly onTrouble: (message: string, error: unknown) => void;
  /** The daemon cannot go on. */
  readonly onFatal: (error: Error) => void;
}

type OpenLog = Awaited<ReturnType<typeof openLog>>;

/** Replays the journal; `listeners` may grow while the daemon runs. */
export async function openLog(options: DaemonOptions, { onTrouble, onFatal }: Troubles) {
  const { paths, config } = options;
  const hasStore = config.values.store !== "";
  const clock = options.clock ?? systemClock();
  const trail = new Trail(paths.trail, { onError: error => onTrouble("the trail cannot be written", error) });
  const known = journalBefore(paths);
  const journal = options.journal ?? new FileJournal({ dir: paths.journal, epochAfter: known.epoch });
  const server = new Server(onTrouble);
  const turns = new Turns();
  const events = new EventHub(() => server.connections, turns);
  // If machines share a store, nobody can tell what came from it between two starts. So clients that come back ask anew.
  const before = hasStore ? null : loadEvents(paths.events);
  if (before !== null) events.take(before);
  const listeners = new Listeners();
  let shared: Shared | null = null;
  const note = (events: readonly CoreEvent[]) => {
    for (const line of trailOf(events, clock.wall())) trail.write(line);
  };
  listeners.add({
    events: "all",
    stepped: (_entry, { events }) => note(events),
  });
  const onStep = (entry: Entry, step: Step, epoch: number, replayed: boolean) => {
    if (replayed) return hasStore ? undefined : events.recall(epoch, entry.seq, step);
    const told = shared?.stepped(entry, step) ?? step;
    events.publish(epoch, entry.seq, told);
    listeners.tell(entry, told);
  };
  const storeId = randomBytes(5).toString("hex");
  const { snapshotEntries = limits.snapshotEntries } = options;
  const parts = { journal, clock, node, storeId, snapshotEntries };
  const own = await Engine.start({ ...parts, onStep, onTrouble, onFatal });
  // A store that was taken out of the settings by hand has nothing: what is shared is here alone meanwhile.
  const isOwn = (project: string) => !hasStore || sharingOf(own.state, project) === undefined;
  listeners.add(claimWatch({ own, clock }, ownClaims(own, isOwn)));
  const short = options.journal === undefined ? shortStart(known, own.found, clock.wall()) : undefined;
  writeStoreMark(paths, own.state, onTrouble, short);
  const older = olderStoreText(paths, clock.wall(), at => new Date(at).toISOString());
  if (older !== null) options.log.warn(older);
  if (hasStore) {
    const { openShared } = await import("./store/shared.ts");
    const write = (line: TrailLine) => trail.write(line);
    shared = openShared(options, { own, clock, events, note, write, onTrouble });
  } else undoLeaves(own);
  const engine: Log = shared?.log ?? own;
  return { clock, trail, journal, server, turns, events, listeners, engine, shared };
}

/** What a leave copied that broke off goes: what is made here from now on stays, also if the store is set again. */
function undoLeaves(own: Engine): void {
  for (const { project, is } of sharedProjects(own.state))
    if (is === "leaving") own.submitWithRetry({ type: "project_moved", project });
}

/** The claims of projects that this machine shares with none. */
function ownClaims(own: Engine, hasProject: (project: string) => boolean): ClaimLog {
  return {
    get state() {
      return own.state;
    },
    hasProject,
    actorHere: actor => (own.state.sessions.live.has(actor.session) ? actor : null),
    personOf: () => personName("agent"),
  };
}

interface Built {
  readonly services: HandlerServices;
  /** The git that is asked, which learns where sessions work. */
  readonly git: GitProgram;
  /** Watches for writes of agents without hooks. */
  readonly unhooked: UnhookedWatch;
  /** What is kept of the presence of sessions, for the next start. */
  readonly kept: PresenceFile;
}

/** `stop` ends the daemon. */
export function buildServices(
  options: DaemonOptions,
  { engine, clock, trail, events, server, journal, listeners, shared }: OpenLog,
  { onTrouble }: Troubles,
  stop: (why: string) => void,
): Built {
  const { paths, version, config, adapters, log } = options;
  const git = new GitProgram({ env: process.env, workedIn: () => directoriesOf(engine.state) });
  const outside = options.outside ?? new BudgetedFs();
  const gitChild = options.git ?? new GitChild(process.env, git, new SpawnRoom(limits.descriptorsForGit));
  const facts = outsideFacts(outside, gitChild, adapters);
  const presence = new PresenceTable(clock);
  const recorder = new Recorder(trail);
  const kept = new PresenceFile({ path: paths.presence, presence, clock, onTrouble });
  kept.load(engine.state.sessions.live);
  const onProblem = (problem: string) => log.warn(problem);
  const token = openPersonToken(paths.personToken, onTrouble);
  const base = { node, engine, clock, facts, presence, recorder };
  const parts = keptByHooks(base, { adapters, paths, config, outside, events, onTrouble, onProblem });
  const rescue = openRescue(base, parts, { paths, config, outside, git: gitChild, onTrouble });
  const hooks = { ...base, ...parts };
  const saved = rescue === null ? [] : [rescuePart(hooks, rescue)];
  const services: HandlerServices = {
    ...hooks,
    points: pointsOf(base, parts, saved),
    rescue,
    ...requestServices(config, base),
    shared,
    projectNames: { outside, git: facts },
    renewNode: () => renewNode(paths),
    version,
    startedAt: clock.now(),
    events,
    acknowledged: new Acknowledged(),
    counters: { requests: 0, refused: 0 },
    connections: () => server.connections,
    fewDescriptors: () => server.fewDescriptors,
    isPerson: text => isToken(token, text),
    journal: () => journal.health,
    flushTrail: () => trail.flush(),
    stop,
  };
  if (rescue !== null) void compareWithKept(services, rescue, null, true);
  const unhooked = new UnhookedWatch(services, { listeners, warn: onProblem, onTrouble });
  return { services, git, unhooked, kept };
}

// Which parts of the daemon hear of the log's steps.

/** Adds them, in the order in which they hear. */
export function hearSteps(
  { engine, server, listeners, shared }: OpenLog,
  { services, git, unhooked }: Built,
  life: Life,
): void {
  const { locks, wakes: sessionWakes } = services.edits;
  const isClosed = (bound: Bound) =>
    bound.node === node && bound.epoch === engine.epoch && !server.isOpen(bound.connection);
  const wakes: Listener = {
    ...wakingSteps,
    stepped: ({ command }, { events }) => sessionWakes.stepped(command.type, events),
  };
  if (shared !== null)
    for (const follower of [tellsOverlaps, ...leadFollowers]) shared.listen(follower(services));
  listeners.add(
    {
      commands: ["session_begin"],
      stepped: ({ command }) => {
        if (command.type !== "session_begin") return;
        git.workedIn(placesOf(command));
        // It may have moved to another project, of which no event tells.
        life.follow(command.session);
      },
    },
    {
      commands: ["session_begin", "session_end"],
      events: sessionEvents,
      stepped: ({ command }, { events }) => {
        // A session gets its process, and loses one of several, without an event.
        if (command.type === "session_begin" || command.type === "session_end") life.follow(command.session);
        for (const { event } of events) if ("id" in event) life.follow(event.id);
      },
    },
    {
      commands: ["lock_request"],
      events: ["lock_granted"],
      stepped: ({ command }, step) => {
        if (locks.queued.size > 0) locks.locked(engine.state, command, step);
      },
    },
    wakes,
    {
      commands: inboxCommands,
      stepped: entry => {
        const event = inboxEvent(entry, engine.state);
        if (event !== null) services.events.tell({ ...event }, [event.by.id], event.project);
      },
    },
    {
      events: ["session_ended"],
      stepped: (_entry, { events }) => forgetEndedLists(services, events),
    },
    unhooked.sessions,
    ...(services.rescue === null ? [] : [endedFlights(services, services.rescue)]),
    ...leadListeners.map(of => of(services, isClosed)),
  );
}

// Begins to look at the processes of sessions, and at the daemon's own place.

/** Returns the life of the daemon; `stop` ends it. */
export function beginLife(
  { paths, config }: DaemonOptions,
  instance: Instance,
  { server, journal }: OpenLog,
  { services, kept }: Built,
  { onTrouble }: Troubles,
  stop: (why: string) => void,
): Life {
  const { points, edits, config: files, entry } = services;
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
      files.seenFiles.changed();
      // Hook clients do not come here while Kite is off everywhere.
      files.offSwitches.read();
      failures.clear();
      kept.saveSoon();
      server.checkDescriptors();
    },
    isConnected: () => {
      for (const { isOnlooker } of server.connections) if (!isOnlooker) return true;
      return false;
    },
    forget: session => {
      edits.wakes.forget(session);
      for (const part of points) part.sessionGone?.(session);
    },
    stopped: (session, isStopped) => {
      for (const part of points) part.processStopped?.(session, isStopped);
    },
    idleEndMs: client => entry.adapters.get(client)?.limits.idleEndMs ?? null,
    stop,
  });
  server.net.on("connection", () => life.connected());
  return life;
}

// Takes what hooks left of ends while no daemon served them, and watches agents of before the start.

/** Returns what takes them once more: those of hooks that found no socket while this daemon started. */
export async function takeEnds(
  { paths, log }: DaemonOptions,
  { services }: Built,
  { onTrouble }: Troubles,
): Promise<() => Promise<void>> {
  const take = async () => {
    try {
      const lines = await takeUnheardEnds(services, paths.unheardEnds);
      if (lines > 0) log.info({ lines }, "took ends that no daemon had taken");
    } catch (error) {
      onTrouble("ends that no daemon had taken cannot be read", error);
    }
  };
  await take();
  new UnseenWatch(services, {
    turnOver: session => turnOver(services.points, session),
    onTrouble: error => onTrouble("agents of before the start cannot be watched", error),
  }).begin();
  return take;
}
