/** merge_queue, merge_take, merge_attach, merge_report, merge_cancel. Git runs in the processes that ask, never here. */
import type { MergeReason, mergeRequests } from "../../../protocol/lead/merge.ts";
import type { RequestType } from "../../../protocol/schemas/requests.ts";
import type { Runner } from "../../core/lead/tables/merges.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf, RequestHandler } from "../../requests/handler.ts";
import type { Call } from "../../server/call.ts";
import type { Services } from "../../services.ts";
import { sharedTasks, withDoersName } from "./shared-author.ts";

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
