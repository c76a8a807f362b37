/** The daemon's counters. */
import type { StatsReply, TaskCounts } from "../../protocol/schemas/daemon.ts";
import { countTasks } from "../core/tables/tasks.ts";
import type { Logs } from "../engine/log-view.ts";
import type { DaemonServices } from "./handler.ts";
import { statsColumns } from "./points.ts";

export function statsOf(services: DaemonServices): StatsReply {
  const { engine, counters, events } = services;
  const { state } = engine;
  const journal = services.journal();
  const filesFree = services.fewDescriptors();
  return {
    ok: true,
    version: services.version,
    pid: process.pid,
    upMs: services.clock.now() - services.startedAt,
    storeId: state.storeId,
    epoch: engine.epoch,
    seq: state.seq,
    sessions: state.sessions.live.size,
    locks: state.locks.holds.size,
    waiters: state.locks.waiters.size,
    tasks: countAllTasks(engine),
    connections: [...services.connections()].length,
    subscribers: events.subscribers,
    requests: counters.requests,
    refused: counters.refused,
    journalBytes: journal.bytes,
    storeFull: journal.full,
    voided: engine.voided,
    trailDropped: services.recorder.dropped,
    rssBytes: rssBytes(),
    ...Object.assign({}, ...statsColumns.map(column => column(services))),
    ...(filesFree === null ? {} : { filesFree }),
    hooks: Object.fromEntries(services.hookCounts),
  };
}

/**
 * Counts the tasks of this machine's projects in all logs, once where two clones share one name: without those that the own log still
 * has of projects that are shared now, and those of projects in the store that this machine does not share.
 */
export function countAllTasks(logs: Logs): TaskCounts {
  const { state } = logs;
  const all = { active: 0, ready: 0, blocked: 0, failed: 0, done: 0 };
  add(all, countTasks(state.tasks, null), 1);
  const names = new Set<string>();
  for (const project of state.outbox.projects.keys()) {
    const log = logs.logOf(project);
    const name = log.project(project);
    if (log.state === state) continue;
    add(all, countTasks(state.tasks, project), -1);
    if (names.has(name)) continue;
    names.add(name);
    add(all, countTasks(log.state.tasks, name), 1);
  }
  return all;
}

type Sums = { -readonly [N in keyof TaskCounts]: number };

function add(all: Sums, { active, ready, blocked, failed, done }: TaskCounts, times: 1 | -1): void {
  all.active += times * active;
  all.ready += times * ready;
  all.blocked += times * blocked;
  all.failed += times * failed;
  all.done += times * done;
}

/** Returns 0 if the system does not tell, as when all descriptors are in use: the other numbers matter then. */
function rssBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
