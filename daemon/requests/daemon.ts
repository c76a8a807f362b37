/** hello, ping, stats, query, subscribe, shutdown. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { StatsReply, TaskCounts } from "../../protocol/daemon.ts";
import type { TeamRow } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import { protocolVersion, type RequestOf } from "../../protocol/requests.ts";
import { countUnheard } from "../core/lead/merges/unread.ts";
import { pathOf } from "../core/locks/replies.ts";
import type { Reply } from "../core/outcome.ts";
import { listOf, type Tasks } from "../core/tasks/table.ts";
import { refs } from "../facts/file-refs.ts";
import { checkRows } from "../lead/checks/rows.ts";
import { mergeRows } from "../lead/merges/rows.ts";
import { spawnRows } from "../lead/spawns/rows.ts";
import { teamRows } from "../lead/teams/rows.ts";
import { isRefusal } from "../server/call.ts";
import type { Steps } from "../server/turns.ts";
import type { Services } from "../services.ts";
import { clientTaskRows } from "../views/client-tasks.ts";
import { contextPage } from "../views/context.ts";
import { declarationRows, endedDeclarationRows } from "../views/declarations.ts";
import { riskRows, type WorkStates, workStates, writeRows } from "../views/dirty-files.ts";
import { holdRows, postedRows } from "../views/messages.ts";
import { page, placeIn } from "../views/paging.ts";
import { type Keyed, lockRows, sessionRows } from "../views/sessions-and-locks.ts";
import { isOfTasks, taskPage } from "../views/tasks.ts";
import type { DaemonServices, RequestHandler } from "./handler.ts";

export const hello: RequestHandler<"hello", DaemonServices> = (services, request, call) => {
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

export const stats: RequestHandler<"stats", DaemonServices> = (services, _request, call) => {
  return services.engine.read(() => call.reply(statsOf(services)));
};

export const query: RequestHandler<"query", DaemonServices> = async (services, request, call) => {
  await call.connection.room();
  const { target, project, after } = request;
  const states = target === "writes" ? await workStates(services, project ?? null) : new Map();
  const from = after === undefined ? null : placeIn(after);
  const readsTeams = target === "teams" && from !== "nowhere";
  const teams = readsTeams ? await teamRows(services, project ?? null, from) : [];
  await call.replyLong(() => rowsFor(services, request, states, teams));
};

/** Returns the rows that answer a query, or a refusal if `after` is invalid. */
function* rowsFor(
  services: DaemonServices,
  request: RequestOf<"query">,
  states: WorkStates,
  teams: readonly Keyed<TeamRow>[],
): Steps<string | Reply> {
  const { engine, recorder } = services;
  const { target, id, project, after, limit: max = limits.rowsDefault } = request;
  if (isOfTasks(target)) return yield* taskPage(engine.state, request);
  if (target === "context") return yield* contextPage(engine, { ...request, project: project ?? null });
  if (target === "refusals") return { ok: true, rows: recorder.refusals.slice(-max) };
  if (target === "stats") return { ok: true, rows: [statsOf(services)] };
  const from = after === undefined ? null : placeIn(after);
  if (from === "nowhere")
    return refuse("invalid_request", "query: after: give next of the reply before", { path: "after" });
  const mayShow = (row: { project: string }) => project === undefined || row.project === project;
  const isOf = (...ids: readonly (string | undefined)[]) => id === undefined || ids.includes(id);
  const pageOf = <Row extends { project: string }>(rows: Iterable<Keyed<Row>>, mine: (row: Row) => boolean) =>
    page(rows, { wanted: row => mayShow(row) && mine(row), from, max });
  switch (target) {
    case "sessions":
      return yield* pageOf(sessionRows(services, { id, project, from }), row => isOf(row.id));
    case "locks":
      return yield* pageOf(lockRows(services, { id }), row => isOf(row.holder?.id));
    case "writes":
      return yield* pageOf(writeRows(services, states, { id }), row =>
        isOf(...row.writers.map(writer => writer.id)),
      );
    case "risks":
      return yield* pageOf(riskRows(services, { id }), row => isOf(...row.sides.map(side => side.id)));
    case "messages":
      return yield* pageOf(postedRows(engine.state, { id, from }), row =>
        isOf(row.from?.id, ...row.to.map(to => to.id)),
      );
    case "declarations":
      return yield* pageOf(declarationRows(engine, { id }), row => isOf(row.id));
    case "declarations_ended":
      return yield* pageOf(endedDeclarationRows(engine, { id }), row => isOf(row.id));
    case "holds":
      return yield* pageOf(holdRows(engine), row => isOf(row.by?.id));
    case "client_tasks":
      // A row belongs to a list, and a list to no one session: `id` does not filter.
      return yield* pageOf(clientTaskRows(services.clientTasks), () => true);
    case "teams":
      return yield* pageOf(teams, row => isOf(row.lead ?? undefined));
    case "checks":
      return yield* pageOf(checkRows(engine.state), row => isOf(row.by?.id));
    case "spawns":
      return yield* pageOf(spawnRows(services), row => isOf(row.session ?? undefined, row.parent?.id));
    case "merges":
      return yield* pageOf(mergeRows(services), row => isOf(row.by?.id, row.author?.id));
  }
}

export const subscribe: RequestHandler<"subscribe", DaemonServices> = async (services, request, call) => {
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

/** Returns the file's real path, as events name it. */
async function realPath(services: Services, file: string): Promise<string | Refusal> {
  if (!isAbsolute(file)) {
    const error = `subscribe: file: ${file} is relative; give an absolute path`;
    return refuse("invalid_request", error, { path: "file" });
  }
  const found = await refs(services, "/", [file]);
  if (isRefusal(found)) return found;
  return found[0] === undefined ? file : pathOf(found[0]);
}

export const shutdown: RequestHandler<"shutdown", DaemonServices> = (services, request, call) => {
  call.reply({ ok: true });
  services.stop(request.handover === true ? "a newer version takes over" : "asked to");
  return undefined;
};

function statsOf(services: DaemonServices): StatsReply {
  const { engine, counters, events } = services;
  const { state } = engine;
  const journal = services.journal();
  const filesFree = services.fewDescriptors();
  const mergesUnheard = countUnheard(state, services.clock.wall() - limits.mergeUnheardMs);
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
    ...(mergesUnheard === 0 ? {} : { mergesUnheard }),
    ...(filesFree === null ? {} : { filesFree }),
    hooks: Object.fromEntries(services.hookCounts),
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

/** Returns 0 if the system does not tell, as when all descriptors are in use: the other numbers matter then. */
function rssBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
