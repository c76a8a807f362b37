/** The daemon's counters. */
import type { StatsReply, TaskCounts } from "../../protocol/daemon.ts";
import { countTasks } from "../core/tasks/table.ts";
import type { LogView } from "../engine/log-view.ts";
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
    tasks: countAll(engine.logs),
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

function countAll(logs: readonly LogView[]): TaskCounts {
  const all = { active: 0, ready: 0, blocked: 0, failed: 0, done: 0 };
  for (const { state } of logs) {
    const { active, ready, blocked, failed, done } = countTasks(state.tasks, null);
    all.active += active;
    all.ready += ready;
    all.blocked += blocked;
    all.failed += failed;
    all.done += done;
  }
  return all;
}

/** Returns 0 if the system does not tell, as when all descriptors are in use: the other numbers matter then. */
function rssBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
