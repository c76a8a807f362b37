/** query: pages of rows. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { QueryTarget } from "../../protocol/schemas/daemon.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import type { Steps } from "../server/turns.ts";
import { elsewhereRows, sameFileRows } from "../sharing/elsewhere.ts";
import { storeNow } from "../sharing/show.ts";
import { clientTaskRows } from "../views/client-tasks.ts";
import { contextPage } from "../views/context.ts";
import { declarationRows, endedDeclarationRows } from "../views/declarations.ts";
import { riskRows, workStates, writeRows } from "../views/dirty-files.ts";
import { holdRows, postedPage } from "../views/messages.ts";
import { nowhere, page, placeIn } from "../views/paging.ts";
import { lockRows, sessionRows, transcriptRows } from "../views/sessions-and-locks.ts";
import { isOfTasks, type TaskTarget, taskPage } from "../views/tasks.ts";
import type { DaemonServices, RequestHandler } from "./handler.ts";
import { leadTargets, rescueTargets } from "./points.ts";
import { statsOf } from "./stats.ts";
import type { Target } from "./target.ts";

export type QueryServices = DaemonServices & Pick<HookServices, "offSwitches" | "settings">;

/** Keeps the type of a target's rows. */
function target<Row extends { readonly project: string }>(one: Target<Row>): Target<Row> {
  return one;
}

const baseTargets = {
  sessions: target({ open: (services, wanted) => () => sessionRows(services, wanted), ids: row => [row.id] }),
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
  same_files: target({
    open:
      ({ engine }, { id, project }) =>
      () =>
        sameFileRows(engine, { id, project }),
    ids: row => row.sides.map(side => side.id),
  }),
  // Only a person asks for them: `person.ts`.
  transcripts: target({
    open:
      ({ engine, presence, settings }: DaemonServices & Pick<HookServices, "settings">, { id }) =>
      () =>
        transcriptRows({ engine, presence }, settings.values.titles, { id }),
    ids: row => [row.id],
  }),
  // A row belongs to a list, and a list to no one session.
  client_tasks: target({
    open:
      ({ clientTasks }) =>
      () =>
        clientTaskRows(clientTasks),
  }),
};

type Apart = TaskTarget | "context" | "messages" | "messages_acknowledged" | "refusals" | "stats" | "store";

const targets: { readonly [T in Exclude<QueryTarget, Apart>]: Target } = {
  ...baseTargets,
  ...leadTargets,
  ...rescueTargets,
};

export const query: RequestHandler<"query", QueryServices> = async (services, request, call) => {
  await call.connection.room();
  const shown = await answerFor(services, request);
  if (typeof shown !== "function") return call.reply(shown);
  await call.replyLong(shown);
};

/** Returns what makes the answer to a query, or why there is none. */
export async function answerFor(
  services: QueryServices,
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
function* apart(services: QueryServices, request: RequestOf<"query">, max: number): Steps<string | Reply> {
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
