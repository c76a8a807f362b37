/** hello, ping, stats, query, subscribe, trail_flush, shutdown. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { daemonRequests } from "../../protocol/schemas/daemon.ts";
import { protocolVersion, type RequestOf } from "../../protocol/schemas/requests.ts";
import { pathOf } from "../core/tables/naming.ts";
import { refs } from "../facts/file-refs.ts";
import type { MountView } from "../facts/mounts/view.ts";
import { type Call, isRefusal } from "../server/call.ts";
import type { Services } from "../services.ts";
import type { DaemonServices, HandlersOf, RequestHandler } from "./handler.ts";
import { type QueryServices, query } from "./query.ts";
import { statsOf } from "./stats.ts";

/** Only a client in a container waits: what it asks next, it asks in its own paths. */
const hello: RequestHandler<"hello", DaemonServices> = (services, request, call) =>
  request.mounts === undefined ? answerHello(services, request, call) : helloFrom(services, request, call);

async function helloFrom(services: DaemonServices, request: RequestOf<"hello">, call: Call): Promise<void> {
  const view = await services.facts.mountView(request.mounts);
  if (view !== null && isRefusal(view)) call.reply(view);
  else {
    // The answer names both sides of each mount.
    call.connection.view = null;
    answerHello(services, request, call, view);
    call.connection.view = view;
  }
}

function answerHello(
  services: DaemonServices,
  request: RequestOf<"hello">,
  call: Call,
  view: MountView | null = null,
): undefined {
  if (request.protocol !== undefined && request.protocol !== protocolVersion) {
    const error = `this daemon speaks protocol ${protocolVersion}, not ${request.protocol}; use the same version on both sides`;
    call.reply(
      refuse("unsupported_protocol", error, { protocol: protocolVersion, version: services.version }),
    );
    return undefined;
  }
  call.connection.client = request.client ?? null;
  call.connection.isPersons = request.person !== undefined && services.isPerson(request.person);
  call.connection.isOnlooker = request.onlooker === true;
  const { storeId } = services.engine.state;
  const { version, engine, shared } = services;
  call.reply({
    ok: true,
    protocol: protocolVersion,
    version,
    pid: process.pid,
    storeId,
    epoch: engine.epoch,
    ...(shared === null ? {} : { sharedStoreId: shared.storeId ?? "" }),
    ...(view === null ? {} : { mounted: view.mounted() }),
  });
  return undefined;
}

const ping: RequestHandler<"ping"> = (_services, _request, call) => {
  call.reply({ ok: true, pong: true });
  return undefined;
};

/** The connection goes on with its next line meanwhile: the trail's disk may be slow. */
const trailFlush: RequestHandler<"trail_flush", DaemonServices> = (services, _request, call) => {
  void services.flushTrail().then(() => call.reply({ ok: true }));
  return undefined;
};

const stats: RequestHandler<"stats", DaemonServices> = (services, _request, call) => {
  return services.engine.read(() => call.reply(statsOf(services)));
};

const subscribe: RequestHandler<"subscribe", DaemonServices> = async (services, request, call) => {
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

const shutdown: RequestHandler<"shutdown", DaemonServices> = (services, request, call) => {
  call.reply({ ok: true });
  services.stop(request.handover === true ? "a newer version takes over" : "asked to");
  return undefined;
};

export const daemonHandlers: HandlersOf<typeof daemonRequests, QueryServices> = {
  hello,
  subscribe,
  query,
  stats,
  ping,
  trail_flush: trailFlush,
  shutdown,
};
