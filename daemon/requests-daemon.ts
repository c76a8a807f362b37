/** hello, ping, stats, query, subscribe, shutdown. */
import { refuse } from "../protocol/codes.ts";
import type { StatsReply } from "../protocol/daemon.ts";
import { limits } from "../protocol/limits.ts";
import type { LockRow } from "../protocol/lock.ts";
import { protocolVersion } from "../protocol/requests.ts";
import type { SessionRow } from "../protocol/session.ts";
import type { RequestHandler } from "./dispatch.ts";
import { type Keyed, lockRows, sessionRows } from "./rows.ts";
import type { Services } from "./services.ts";

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

export const query: RequestHandler<"query"> = (services, request, call) => {
  const max = request.limit ?? limits.rowsDefault;
  return services.engine.read(state => {
    const now = services.engine.now;
    const { target, project, id, after } = request;
    if (target === "sessions") {
      const wanted = project === undefined && id === undefined ? null : (r: SessionRow) => within(request, r);
      call.reply(
        page(
          keep(() => sessionRows(state, services.presence, now), wanted),
          max,
          after,
        ),
      );
    } else if (target === "locks") {
      const isHolders = (r: LockRow) => id === undefined || r.holder?.id === id;
      const own = (r: LockRow) => isHolders(r) && within({ project }, r);
      const wanted = project === undefined && id === undefined ? null : own;
      call.reply(
        page(
          keep(() => lockRows(state, now), wanted),
          max,
          after,
        ),
      );
    } else if (target === "refusals") {
      call.reply({ ok: true, rows: services.recorder.refusals.slice(-max) });
    } else {
      call.reply({ ok: true, rows: [statsOf(services)] });
    }
  });
};

export const subscribe: RequestHandler<"subscribe"> = (services, request, call) => {
  return services.engine.read(() => {
    const { cursor, lagged, missed } = services.events.subscribe(
      call.connection,
      request.events,
      request.cursor,
    );
    call.reply(lagged ? { ok: true, cursor, lagged } : { ok: true, cursor });
    for (const one of missed) call.connection.push(one.line);
  });
};

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
    connections: [...services.connections()].length,
    subscribers: events.subscribers,
    requests: counters.requests,
    refused: counters.refused,
    journalBytes: journal.bytes,
    storeFull: journal.full,
    voided: engine.voided,
    trailDropped: services.recorder.dropped,
    rssBytes: process.memoryUsage.rss(),
    hooks: Object.fromEntries(counters.hooks),
  };
}

function within(
  of: { project?: string | undefined; id?: string | undefined },
  row: { project: string; id?: string },
): boolean {
  return (
    (of.project === undefined || row.project === of.project) && (of.id === undefined || row.id === of.id)
  );
}

function keep<Row>(
  rows: () => Iterable<Keyed<Row>>,
  wanted: ((row: Row) => boolean) | null,
): () => Iterable<Keyed<Row>> {
  if (wanted === null) return rows;
  return function* () {
    for (const one of rows()) {
      const row = one.row();
      if (wanted(row)) yield { key: one.key, row: () => row };
    }
  };
}

/**
 * At most `max` rows after the one that `after` names, and where to go on. Where that one is gone meanwhile, its
 * number says where it stood.
 */
function page<Row>(rows: () => Iterable<Keyed<Row>>, max: number, after: string | undefined): object {
  const shown: Row[] = [];
  let last = "";
  let index = 0;
  const start = after === undefined ? 0 : startAfter(rows(), after);
  for (const { key, row } of rows()) {
    index += 1;
    if (index <= start) continue;
    if (shown.length === max) return { ok: true, rows: shown, next: `${index - 1} ${last}` };
    shown.push(row());
    last = key;
  }
  return { ok: true, rows: shown };
}

function startAfter<Row>(rows: Iterable<Keyed<Row>>, after: string): number {
  const wanted = after.slice(after.indexOf(" ") + 1);
  let index = 0;
  for (const { key } of rows) {
    index += 1;
    if (key === wanted) return index;
  }
  return Number.parseInt(after, 10) || 0;
}
