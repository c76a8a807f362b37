/** hello, ping, stats, query, subscribe, shutdown. */
import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../protocol/codes.ts";
import type { StatsReply, TaskCounts } from "../protocol/daemon.ts";
import { limits } from "../protocol/limits.ts";
import type { LockRow } from "../protocol/lock.ts";
import type { PostedRow } from "../protocol/message.ts";
import { protocolVersion } from "../protocol/requests.ts";
import type { SessionRow } from "../protocol/session.ts";
import type { RiskRow, WriteRow } from "../protocol/write.ts";
import { isRefusal } from "./call.ts";
import { contextPage } from "./context-rows.ts";
import { holdRow } from "./core/edit-holds.ts";
import { pathOf } from "./core/lock-text.ts";
import { listOf, type Tasks } from "./core/task-table.ts";
import type { RequestHandler } from "./dispatch.ts";
import { postedRows } from "./message-rows.ts";
import { page, placeIn } from "./paging.ts";
import { refs } from "./requests-lock.ts";
import { lockRows, sessionRows } from "./rows.ts";
import type { Services } from "./services.ts";
import { taskPage } from "./task-rows.ts";
import { riskRows, workStates, writeRows } from "./write-rows.ts";

export const hello: RequestHandler<"hello"> = (services, request, call) => {
  if (request.protocol !== undefined && request.protocol !== protocolVersion) {
    const error = `this daemon speaks protocol ${protocolVersion}, not ${request.protocol}; use the same version on both sides`;
    call.reply(
      refuse("unsupported_protocol", error, { protocol: protocolVersion, version: services.version }),
    );
    return undefined;
  }
  call.connection.client = request.client ?? null;
  const { storeId } = services.engine.state;
  const { version, engine } = services;
  call.reply({
    ok: true,
    protocol: protocolVersion,
    version,
    pid: process.pid,
    storeId,
    epoch: engine.epoch,
  });
  return undefined;
};

export const ping: RequestHandler<"ping"> = (_services, _request, call) => {
  call.reply({ ok: true, pong: true });
  return undefined;
};

export const stats: RequestHandler<"stats"> = (services, _request, call) => {
  return services.engine.read(() => call.reply(statsOf(services)));
};

export const query: RequestHandler<"query"> = async (services, request, call) => {
  await call.connection.room();
  const states =
    request.target === "writes" ? await workStates(services, request.project ?? null) : new Map();
  await services.engine.read(() => {
    const { target, id, project, limit: max = limits.rowsDefault } = request;
    const mayShow = (row: { project: string }) => project === undefined || row.project === project;
    if (target === "tasks" || target === "task_ready" || target === "task_blocked") {
      call.reply(taskPage(services.engine.state, request));
      return;
    }
    const from = request.after === undefined || target === "context" ? null : placeIn(request.after);
    if (from === "nowhere") {
      call.reply(refuse("invalid_request", "query: after: give next of the reply before", { path: "after" }));
    } else if (target === "sessions") {
      const wanted = (row: SessionRow) => mayShow(row) && (id === undefined || row.id === id);
      call.reply(page(sessionRows(services), { wanted, from, max }));
    } else if (target === "locks") {
      const wanted = (row: LockRow) => mayShow(row) && (id === undefined || row.holder?.id === id);
      call.reply(page(lockRows(services), { wanted, from, max }));
    } else if (target === "writes") {
      const isOf = (row: WriteRow) => id === undefined || row.writers.some(writer => writer.id === id);
      const wanted = (row: WriteRow) => mayShow(row) && isOf(row);
      call.reply(page(writeRows(services, states), { wanted, from, max }));
    } else if (target === "risks") {
      const isOf = (row: RiskRow) => id === undefined || row.sides.some(side => side.id === id);
      call.reply({
        ok: true,
        rows: riskRows(services)
          .filter(row => mayShow(row) && isOf(row))
          .slice(0, max),
      });
    } else if (target === "context") {
      call.reply(contextPage(services.engine, { ...request, project: project ?? null }));
    } else if (target === "messages") {
      const isOf = ({ from, to }: PostedRow) => from?.id === id || to.some(row => row.id === id);
      const wanted = (row: PostedRow) => mayShow(row) && (id === undefined || isOf(row));
      call.reply(page(postedRows(services.engine.state), { wanted, from, max }));
    } else if (target === "holds") {
      const { state, now } = services.engine;
      const holds = [...state.editHolds.all.values()].map(hold => holdRow(hold, now));
      call.reply({ ok: true, rows: holds.filter(mayShow).slice(0, max) });
    } else if (target === "refusals") {
      call.reply({ ok: true, rows: services.recorder.refusals.slice(-max) });
    } else {
      call.reply({ ok: true, rows: [statsOf(services)] });
    }
  });
};

export const subscribe: RequestHandler<"subscribe"> = async (services, request, call) => {
  const { events: names, project = null, id: session = null, file } = request;
  const path = file === undefined ? null : await realPath(services, file);
  if (path !== null && typeof path !== "string") {
    call.reply(path);
    return;
  }
  const filter = { names: names === undefined ? null : new Set(names), project, session, path };
  await services.engine.read(() => {
    const { connection } = call;
    const { cursor, lagged } = services.events.subscribe(connection, filter, request.cursor);
    call.reply(lagged ? { ok: true, cursor, lagged } : { ok: true, cursor });
    services.events.drained(connection);
  });
};

/** Where the file is, links followed, as events name it. */
async function realPath(services: Services, file: string): Promise<string | Refusal> {
  if (!isAbsolute(file)) {
    const error = `subscribe: file: ${file} is relative, and nobody knows to what; give an absolute path`;
    return refuse("invalid_request", error, { path: "file" });
  }
  const found = await refs(services, "/", [file]);
  if (isRefusal(found)) return found;
  return found[0] === undefined ? file : pathOf(found[0]);
}

export const shutdown: RequestHandler<"shutdown"> = (services, request, call) => {
  call.reply({ ok: true });
  services.stop(request.handover === true ? "a newer version takes over" : "asked to");
  return undefined;
};

function statsOf(services: Services): StatsReply {
  const { engine, counters, events } = services;
  const { state } = engine;
  const journal = services.journal();
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
    tasks: countTasks(state.tasks),
    connections: [...services.connections()].length,
    subscribers: events.subscribers,
    requests: counters.requests,
    refused: counters.refused,
    journalBytes: journal.bytes,
    storeFull: journal.full,
    voided: engine.voided,
    trailDropped: services.recorder.dropped,
    rssBytes: rssBytes(),
    hooks: Object.fromEntries(counters.hooks),
  };
}

function countTasks(tasks: Tasks): TaskCounts {
  const count = (name: keyof TaskCounts) => listOf(tasks, name, null).size;
  return {
    active: count("active"),
    ready: count("ready"),
    blocked: count("blocked"),
    failed: count("failed"),
    done: count("done"),
  };
}

/** 0 where the system does not tell, as when all descriptors are in use: the other numbers matter then. */
function rssBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
