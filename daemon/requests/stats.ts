/** The daemon's counters. */
import type { StatsReply, TaskCounts } from "../../protocol/daemon.ts";
import { listOf, type Tasks } from "../core/tasks/table.ts";
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
    tasks: countTasks(state.tasks, null),
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

/** Counts the tasks of a project; null: of all. */
export function countTasks(tasks: Tasks, project: string | null): TaskCounts {
  const count = (name: keyof TaskCounts) => listOf(tasks, name, project).size;
  return {
    active: count("active"),
    ready: count("ready"),
    blocked: count("blocked"),
    failed: count("failed"),
    done: count("done"),
  };
}

/** Returns 0 if the system does not tell, as when all descriptors are in use: the other numbers matter then. */
function rssBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
