/** query: pages of rows. */

import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { daemonRequests, QueryTarget, StatsReply, TaskCounts } from "../../protocol/schemas/daemon.ts";
import type { OverviewReply, SettingsRow } from "../../protocol/schemas/overview.ts";
import { protocolVersion, type RequestOf } from "../../protocol/schemas/requests.ts";
import type { UserConfig } from "../config/config.ts";
import { offRows } from "../config/off-switch.ts";
import { sharedProjects } from "../core/sharing.ts";
import type { Reply } from "../core/tables/entries.ts";
import { pathOf } from "../core/tables/naming.ts";
import { countTasks } from "../core/tables/tasks.ts";
import type { Logs } from "../engine/log-view.ts";
import { refs } from "../facts/facts.ts";
import type { MountView } from "../facts/mounts.ts";
import { leadTargets, statsColumns } from "../leading.ts";
import type { Services } from "../options.ts";
import { damageNow, lostNow, rescueTargets } from "../rescue/listing.ts";
import type { RescueServices } from "../rescue/services.ts";
import { type Call, isRefusal, type Steps } from "../server/call.ts";
import { type StoreServices, storeNow } from "../store/requests.ts";
import { elsewhereRows } from "../views/elsewhere.ts";
import { contextPage, holdRows, postedPage } from "../views/messages.ts";
import { nowhere, page, placeIn } from "../views/paging.ts";
import { lockRows, lookAtHeads, sessionRows, transcriptRows } from "../views/sessions.ts";
import { clientTaskRows, isOfTasks, type TaskTarget, taskPage } from "../views/tasks.ts";
import { declarationRows, endedDeclarationRows, riskRows, workStates, writeRows } from "../views/work.ts";
import type { DaemonServices, HandlersOf, Target } from "./handler.ts";

// The daemon's counters.

function statsOf(services: DaemonServices): StatsReply {
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
    hooks: Object.fromEntries(services.entry.counts),
  };
}

/** Counts the tasks of all logs, but for what the own log still has of projects that are shared now. */
function countAllTasks(logs: Logs): TaskCounts {
  const [, ...shared] = logs.logs;
  const { state } = logs;
  const all = { active: 0, ready: 0, blocked: 0, failed: 0, done: 0 };
  for (const log of [{ state }, ...shared]) add(all, countTasks(log.state.tasks, null), 1);
  if (shared.length > 0)
    for (const { project } of sharedProjects(state)) add(all, countTasks(state.tasks, project), -1);
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

/** Keeps the type of a target's rows. */
function target<Row extends { readonly project: string }>(one: Target<Row>): Target<Row> {
  return one;
}

const baseTargets = {
  sessions: target({
    open: async (services, wanted) => {
      await lookAtHeads(services, wanted.project);
      return () => sessionRows(services, wanted);
    },
    ids: row => [row.id],
  }),
  locks: target({
    open:
      (services, { id }) =>
      () =>
        lockRows(services, { id }),
    ids: row => [row.holder?.id],
  }),
  writes: target({
    open: async (services, { id, project = null }) => {
      const states = await workStates(services, project);
      return () => writeRows(services, states, { id });
    },
    ids: row => row.writers.map(writer => writer.id),
  }),
  risks: target({
    open:
      (services, { id }) =>
      () =>
        riskRows(services, { id }),
    ids: row => row.sides.map(side => side.id),
  }),
  declarations: target({
    open:
      ({ engine }, { id, project }) =>
      () =>
        declarationRows(engine, { id, project }),
    ids: row => [row.id],
  }),
  declarations_ended: target({
    open:
      ({ engine }, { id, project }) =>
      () =>
        endedDeclarationRows(engine, { id, project }),
    ids: row => [row.id],
  }),
  holds: target({
    open:
      ({ engine }) =>
      () =>
        holdRows(engine),
    ids: row => [row.by?.id],
  }),
  // Sessions of other machines; none where no store is set.
  elsewhere: target({
    open:
      ({ engine }, { project }) =>
      () =>
        elsewhereRows(engine, project),
    ids: row => [row.id],
  }),
  // Only a person asks for them: `person.ts`.
  transcripts: target({
    open:
      ({ engine, presence, config: { settings } }: DaemonServices, { id }) =>
      () =>
        transcriptRows({ engine, presence }, settings.values.titles, { id }),
    ids: row => [row.id],
  }),
  // A row belongs to a list, and a list to no one session.
  client_tasks: target({
    open:
      ({ calls }) =>
      () =>
        clientTaskRows(calls.tasks),
  }),
};

type Apart = TaskTarget | "context" | "messages" | "messages_acknowledged" | "refusals" | "stats" | "store";

const targets: { readonly [T in Exclude<QueryTarget, Apart>]: Target } = {
  ...baseTargets,
  ...leadTargets,
  ...rescueTargets,
};

async function query(services: DaemonServices, request: RequestOf<"query">, call: Call): Promise<void> {
  await call.connection.room();
  const shown = await answerFor(services, request);
  if (typeof shown !== "function") return call.reply(shown);
  await call.replyLong(shown);
}

/** Returns what makes the answer to a query, or why there is none. */
async function answerFor(
  services: DaemonServices,
  request: RequestOf<"query">,
): Promise<(() => Steps<string | Reply>) | Refusal> {
  const { target, id, project, file, reader, after, limit: max = limits.rowsDefault } = request;
  if (!isPaged(target)) return () => apart(services, request, max);
  const from = after === undefined ? null : placeIn(after);
  if (from === "nowhere") return nowhere();
  if (reader !== undefined && !services.engine.state.sessions.live.has(reader))
    return refuse("unknown_session", `no session ${reader} is registered; send register first`);
  const shown: Target = targets[target];
  const rows = await shown.open(services, { id, project, file, reader, from });
  const wanted = (row: { readonly project: string }) =>
    (project === undefined || row.project === project) &&
    (id === undefined || shown.ids === undefined || shown.ids(row).includes(id));
  return () => page(rows(), { wanted, from, max });
}

function isPaged(target: QueryTarget): target is Exclude<QueryTarget, Apart> {
  return Object.hasOwn(targets, target);
}

/** Answers for the targets that other logs may have, and for those whose rows have no position each. */
function* apart(services: DaemonServices, request: RequestOf<"query">, max: number): Steps<string | Reply> {
  const { engine, recorder, shared } = services;
  const { target, project = null } = request;
  if (isOfTasks(target)) return yield* taskPage(engine, request);
  if (target === "context") return yield* contextPage(engine, { ...request, project });
  if (target === "messages") return yield* postedPage(engine, { ...request, project, max });
  if (target === "messages_acknowledged")
    return { ok: true, rows: services.acknowledged.rows(engine, { ...request, max }) };
  if (target === "store") return { ok: true, rows: shared === null ? [] : [storeNow(services, shared)] };
  return { ok: true, rows: target === "stats" ? [statsOf(services)] : recorder.refusals.slice(-max) };
}

// overview: what `kite status` shows, in one answer.

type OverviewServices = DaemonServices & RescueServices & StoreServices;

/** The lists of the reply, each the first page of a query. */
const lists = {
  sessions: "sessions",
  locks: "locks",
  holds: "holds",
  refusals: "refusals",
  risks: "risks",
  watched: "task_watched",
} as const;

/** Where a store is set. */
const listsOfOthers = { elsewhere: "elsewhere" } as const;

export async function overview(
  services: OverviewServices,
  { cwd }: RequestOf<"overview">,
  call: Call,
): Promise<void> {
  if (cwd !== undefined && !isAbsolute(cwd)) {
    const error = `overview: cwd: ${cwd} is relative; give an absolute path`;
    call.reply(refuse("invalid_request", error, { path: "cwd" }));
    return;
  }
  await call.connection.room();
  const found = cwd === undefined ? { project: null } : await services.facts.repository(cwd);
  const place =
    "unreachable" in found
      ? { project: null, unreachable: found.unreachable }
      : { project: found.project, ...projectTasks(services, found.project) };
  const wanted = services.shared === null ? lists : { ...lists, ...listsOfOthers };
  const named = Object.entries(wanted).map(async ([name, target]) => {
    const shown = await answerFor(services, { target, limit: limits.rowsMax });
    return [name, shown] as const;
  });
  const answers = await Promise.all(named);
  // An agent sees kept work of its own project alone.
  const maySee = place.project !== null || call.connection.isPersons;
  const wiped = maySee ? await lostNow(services, place.project) : {};
  const kept = { ...wiped, ...damageNow(services) };
  await call.replyLong(() => overviewText(services, { ...place, ...kept }, answers));
}

function projectTasks({ engine }: OverviewServices, project: string | null): object {
  if (project === null) return {};
  const log = engine.logOf(project);
  return { projectTasks: countTasks(log.state.tasks, project) };
}

/** Yields the reply as text: its lists are text already. */
function* overviewText(
  services: OverviewServices,
  place: object,
  answers: readonly (readonly [string, Awaited<ReturnType<typeof answerFor>>])[],
): Steps<string> {
  const off = offRows(services.config.offSwitches.read(), services.clock.wall());
  const mode = services.config.settings.values.mode === "observe" ? { mode: "observe" } : {};
  const settings = settingsRow(services.config.settings);
  const changedFiles = services.config.seenFiles.changed();
  const fields = { ...place, off, ...mode, changedFiles, ...settings, ...storeField(services) };
  const parts = [
    `{"ok":true,${JSON.stringify(fields).slice(1, -1)},"stats":${JSON.stringify(statsOf(services))}`,
  ];
  for (const [name, shown] of answers) {
    const list = typeof shown === "function" ? yield* shown() : shown;
    parts.push(`"${name}":${typeof list === "string" ? list : JSON.stringify(list)}`);
  }
  return `${parts.join(",")}}`;
}

function storeField(services: OverviewServices): Pick<OverviewReply, "store"> {
  const { shared } = services;
  return shared === null ? {} : { store: storeNow(services, shared) };
}

function settingsRow({ problem = null, waiting = [] }: UserConfig): { readonly settings?: SettingsRow } {
  return problem === null && waiting.length === 0 ? {} : { settings: { problem, waiting } };
}

// hello, ping, stats, query, subscribe, trail_flush, shutdown.

/** Only a client in a container waits: what it asks next, it asks in its own paths. */
function hello(services: DaemonServices, request: RequestOf<"hello">, call: Call): Promise<void> | undefined {
  return request.mounts === undefined
    ? answerHello(services, request, call)
    : helloFrom(services, request, call);
}

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
    ...(shared === null ? {} : { sharedStoreId: shared.store.id ?? "" }),
    ...(view === null ? {} : { mounted: view.mounted() }),
  });
  return undefined;
}

function ping(_services: Services, _request: RequestOf<"ping">, call: Call): Promise<void> | undefined {
  call.reply({ ok: true, pong: true });
  return undefined;
}

/** The connection goes on with its next line meanwhile: the trail's disk may be slow. */
function trailFlush(
  services: DaemonServices,
  _request: RequestOf<"trail_flush">,
  call: Call,
): Promise<void> | undefined {
  void services.flushTrail().then(() => call.reply({ ok: true }));
  return undefined;
}

function stats(
  services: DaemonServices,
  _request: RequestOf<"stats">,
  call: Call,
): Promise<void> | undefined {
  return services.engine.read(() => call.reply(statsOf(services)));
}

async function subscribe(
  services: DaemonServices,
  request: RequestOf<"subscribe">,
  call: Call,
): Promise<void> {
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
}

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

function shutdown(
  services: DaemonServices,
  request: RequestOf<"shutdown">,
  call: Call,
): Promise<void> | undefined {
  call.reply({ ok: true });
  services.stop(request.handover === true ? "a newer version takes over" : "asked to");
  return undefined;
}

export const daemonHandlers: HandlersOf<typeof daemonRequests, DaemonServices> = {
  hello,
  subscribe,
  query,
  stats,
  ping,
  trail_flush: trailFlush,
  shutdown,
};
