/** merge_queue, merge_take, merge_attach, merge_report, merge_cancel. Git runs in the processes that ask, never here. */

import { join } from "node:path";
import type { ReturnedMerge } from "../../hooks/seam/outcomes.ts";
import type { MergeElsewhereRow, MergeReason, MergeRow, mergeRequests } from "../../protocol/lead/merge.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestType } from "../../protocol/schemas/requests.ts";
import type { Bound } from "../core/frame/actors.ts";
import { countUnheard, firstUnread, hasOpenMerge, mergeRow, shortName } from "../core/lead/merges.ts";
import type { Merge, MergeOutcome, NewMerge, Runner } from "../core/lead/tables/merges.ts";
import type { State } from "../core/state.ts";
import type { Entry } from "../core/tables/entries.ts";
import { returnable } from "../core/tasks/leave.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { Log } from "../engine/engine.ts";
import type { Listener, Logs, LogView, SharedListener } from "../engine/log-view.ts";
import type { HookPart } from "../hooks/points.ts";
import type { Services } from "../options.ts";
import {
  forward,
  type HandlersOf,
  type RequestHandler,
  type StatsColumn,
  type Target,
} from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import type { Keyed, RowSource } from "../views/paging.ts";
import { unreadReturn } from "./columns.ts";

// The author of a branch and its tasks, where machines share the project's tasks: merges stand in this machine's own log, and
// the tasks in the shared project. Requests look them up there.

type Author = NonNullable<NewMerge["author"]>;

/** Returns the author with its name, if it did one of the tasks of a shared project. */
export function withDoersName(
  engine: Log,
  project: string,
  { session, agent }: Author,
  tasks: readonly string[],
): Author {
  const log = engine.logOf(project);
  if (log.state === engine.state) return { session, agent };
  for (const id of tasks) {
    const task = log.state.tasks.all.get(id);
    const doer = task === undefined ? null : assigneeOf(log.state, task);
    if (doer === null || doer.agent !== agent) continue;
    if (idsOf(log, session).includes(doer.id)) return { session, agent, name: doer.name };
  }
  return { session, agent };
}

/** Returns what a shared project may call a session that a merge names: one of this machine, or as it was found there. */
function idsOf(log: LogView, session: string): readonly string[] {
  return [session, log.actor({ session, agent: null, incarnation: 0 }).session];
}

/** Returns those of a merge's tasks that its project's log can give back, and what it calls their author. */
function toReturn(log: LogView, { tasks, author }: Pick<Merge, "tasks" | "author">) {
  const ids = author === null ? [] : idsOf(log, author.id);
  const all = ids.map(id => ({
    author: id,
    tasks: returnable(log.state, { tasks, author: id }).map(one => one.id),
  }));
  return all.find(one => one.tasks.length > 0) ?? { author: ids[0] ?? "", tasks: [] };
}

/** Returns the tasks that the shared project is going to give back with this outcome of the merge, as a field. */
export function sharedTasks(
  engine: Log,
  id: string,
  outcome: MergeOutcome,
): { readonly shared?: readonly string[] } {
  const merge = engine.state.merges.all.get(id);
  if (outcome.is !== "returned" || merge === undefined || merge.author === null) return {};
  const log = engine.logOf(merge.project);
  if (log.state === engine.state) return {};
  return { shared: toReturn(log, merge).tasks };
}

/** Returns what gives tasks back that merges of this machine owe to shared projects. The own log has those of one that it left. */
export function returnsOwedTasks({
  engine,
  clock,
}: Pick<Services, "engine" | "clock">): SharedListener & Listener {
  const sending = new Set<string>();
  const look = (): void => {
    for (const merge of engine.state.merges.all.values())
      if (merge.owed !== undefined && !sending.has(merge.id)) giveBack(merge);
  };
  const giveBack = (merge: Merge): void => {
    const { id, project, owed } = merge;
    if (owed === undefined) return;
    sending.add(id);
    const again = () =>
      clock.at(clock.now() + limits.fullRetryMs, () => {
        sending.delete(id);
        look();
      });
    const { author } = toReturn(engine.logOf(project), merge);
    const isThere = owed.by !== null && engine.state.sessions.live.has(owed.by.session);
    // Repeated, it is done once: meanwhile the author may have claimed the tasks again.
    const retry = { by: "merges that came back", requestId: id, digest: "" };
    const command = { type: "task_return", project, author, tasks: merge.tasks, ...owed, retry } as const;
    engine.submit(
      { ...command, by: isThere ? owed.by : null },
      {
        answer(reply) {
          if (reply.ok) {
            sending.delete(id);
            engine.submitWithRetry({ type: "merge_settled", merge: id });
          } else again();
        },
        failed: again,
      },
    );
  };
  return { commands: ["merge_report", "project_left"], stepped: look, told: () => {}, reached: look };
}

export const mergeHandlers: HandlersOf<typeof mergeRequests> = {
  merge_queue: bound(
    forward<"merge_queue">({
      command: (request, stamp, services, call) => {
        const { base, rebase = false, checkOnly = false } = request;
        const merges = request.merges.map(({ branch, author, tasks = [], after = [] }) => ({
          branch,
          author: author === undefined ? null : authorOf(services, stamp.project, author, tasks),
          tasks,
          after,
        }));
        const runner = runnerOf(services, request, call);
        return { type: "merge_queue", ...stamp, base, runner, rebase, checkOnly, merges };
      },
      line: (_, { merges, base }) => ({ why: `${merges.length} for ${base}` }),
    }),
  ),
  // Its line is the event's: a runner asks at each change of the queue.
  merge_take: bound(
    forward<"merge_take">({
      command: (request, stamp, services, call) => {
        const { base, drain = false } = request;
        return { type: "merge_take", ...stamp, base, runner: runnerOf(services, request, call), drain };
      },
    }),
  ),
  merge_attach: bound((services, request, call) => {
    call.propose({ type: "merge_attach", runner: runnerOf(services, request, call) });
    return undefined;
  }),
  merge_report: forward<"merge_report">({
    command: (request, { by, wallMs }, services, call) => {
      const { merge, run, outcome } = request;
      return {
        type: "merge_report",
        by,
        runner: runnerOf(services, request, call),
        merge,
        run,
        outcome,
        ...sharedTasks(services.engine, merge, outcome),
        wallMs,
      };
    },
    line: (_, { merge, outcome }) => ({
      why: `${merge}: ${outcome.is}${"commit" in outcome ? ` ${outcome.commit.slice(0, 7)}` : ""}`,
    }),
  }),
  merge_cancel: forward<"merge_cancel">({
    command: ({ merge = null, runner = "", reason = somebody }, stamp) => ({
      type: "merge_cancel",
      ...{ ...stamp, merge, runner, reason },
    }),
    line: reply => ({ why: reply.ok ? `cancelled ${String(reply["cancelled"])}` : "" }),
  }),
};

const somebody: MergeReason = {
  code: "asked",
  text: "somebody cancelled it",
  files: [],
  more: 0,
  output: null,
};

function authorOf(
  { engine }: Services,
  project: string,
  { id, agent }: { readonly id: string; readonly agent?: string | undefined },
  tasks: readonly string[],
) {
  return withDoersName(engine, project, { session: id, agent: agent ?? null }, tasks);
}

function runnerOf({ node, engine }: Services, request: { readonly runner: string }, call: Call): Runner {
  const bound = { node, epoch: engine.epoch, connection: call.connection.number };
  return { name: request.runner, bound };
}

/** Takes the merges from the runners of a connection when it closes. Tied after the proposal, so that the log has it. */
function bound<T extends RequestType>(handler: RequestHandler<T>): RequestHandler<T> {
  return (services, request, call) => {
    handler(services, request, call);
    const { connection } = call;
    if (connection.merges && !connection.isClosed) return undefined;
    connection.merges = true;
    const { node, engine, clock } = services;
    const its = { node, epoch: engine.epoch, connection: connection.number };
    connection.tie(() => engine.submitWithRetry({ type: "merge_unbind", bound: its, wallMs: clock.wall() }));
    return undefined;
  };
}

// Merges as `query` shows them, the oldest first.

export function* mergeRows(source: RowSource): Generator<Keyed<MergeRow>, void> {
  for (const merge of source.engine.state.merges.all.values()) {
    const row = () => {
      const unread = unreadReturn(source, merge);
      return { ...mergeRow(merge), ...(unread === undefined ? {} : { unread }) };
    };
    yield { place: merge.n, key: "", row };
  }
}

const merges: Target<MergeRow> = {
  open: source => () => mergeRows(source),
  ids: row => [row.by?.id, row.author?.id],
};

/** Yields what other machines told of their merges; `project`: only those of this project of this machine. */
function* mergesElsewhereRows(
  logs: Logs,
  project: string | undefined,
): Generator<Keyed<MergeElsewhereRow>, void> {
  for (const log of project === undefined ? logs.logs : [logs.logOf(project)]) {
    for (const [node, merges] of log.state.mergesThere) {
      const where = log.elsewhere(node);
      if (where === null) continue;
      const { machine } = where;
      for (const merge of merges) {
        const row = () => ({ ...merge, machine });
        yield { place: merge.changedAt, key: `${node} ${merge.id}`, row };
      }
    }
  }
}

const merges_elsewhere: Target<MergeElsewhereRow> = {
  open:
    ({ engine }, { project }) =>
    () =>
      mergesElsewhereRows(engine, project),
  ids: row => [row.author],
};

export const mergeTargets = { merges, merges_elsewhere };

/** Branches whose latest merge came back with nobody there to read so. */
export const mergeStats: StatsColumn = ({ engine, clock }) => {
  const mergesUnheard = countUnheard(engine.state, clock.wall() - limits.mergeUnheardMs);
  return mergesUnheard === 0 ? {} : { mergesUnheard };
};

// A session that stops waits for the merges of its branch.

export function mergePart({ engine }: Services): HookPart {
  return {
    waitsFor: session => ({
      hasBranch: mayBeMerged(engine.state, session),
      cameBack: () => returnedTo(engine.state, session),
    }),
  };
}

/** Whether somebody may merge the session's branch: it has a worktree of its own, or a merge of its branch waits already. */
function mayBeMerged(state: State, session: string): boolean {
  const { worktree, project, branch } = state.sessions.live.get(session) ?? {
    worktree: "",
    project: "",
    branch: null,
  };
  const isLinked = branch !== null && project !== worktree && project !== join(worktree, ".git");
  return isLinked || hasOpenMerge(state, session);
}

function returnedTo(state: State, session: string): ReturnedMerge | null {
  const merge = firstUnread(state, session);
  if (merge === undefined) return null;
  const { id, branch, base } = merge;
  return { merge: id, branch: shortName(branch), base: shortName(base) };
}

// A merge that the log hands out behind the end of its runner's connection. A journal in a file keeps the order of
// proposals; a log of several machines may deliver a proposal after it said that it took none.

/**
 * Returns the closed connection that the entry tied a merge to: its end has to be proposed once more. Null for all other
 * entries. `isClosed` says so only of connections of this daemon since its start: a start takes merges from all others.
 */
export function lateRunner({ command }: Entry, isClosed: (bound: Bound) => boolean): Bound | null {
  switch (command.type) {
    case "merge_queue":
    case "merge_take":
    case "merge_attach":
      return isClosed(command.runner.bound) ? command.runner.bound : null;
    default:
      return null;
  }
}

/** Returns what hears of the entries that tie a merge to a connection, and proposes such an end. */
export function unbindsLateRunners(
  { engine, clock }: Services,
  isClosed: (bound: Bound) => boolean,
): Listener {
  return {
    commands: ["merge_queue", "merge_take", "merge_attach"],
    stepped: entry => {
      const bound = lateRunner(entry, isClosed);
      if (bound !== null) engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: clock.wall() });
    },
  };
}
