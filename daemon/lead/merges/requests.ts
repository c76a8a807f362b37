/** merge_queue, merge_take, merge_attach, merge_report, merge_cancel. Git runs in the processes that ask, never here. */
import type { MergeReason } from "../../../protocol/lead/merge.ts";
import type { RequestOf } from "../../../protocol/requests.ts";
import type { Actor } from "../../core/actor.ts";
import type { Command } from "../../core/commands.ts";
import type { Runner } from "../../core/lead/merges/commands.ts";
import type { Reply } from "../../core/outcome.ts";
import { type Asking, callerOf, projectOf } from "../../requests/caller.ts";
import type { RequestHandler } from "../../requests/handler.ts";
import { type Call, retryOf } from "../../server/call.ts";
import type { Services } from "../../services.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { noteReply } from "../../trail/decisions.ts";

export const mergeQueue: RequestHandler<"merge_queue"> = (services, request, call) => {
  const { base, rebase = false, checkOnly = false } = request;
  const by = speakerOf(services, request, call);
  const merges = request.merges.map(({ branch, author, tasks = [], after = [] }) => ({
    branch,
    author: author === undefined ? null : { session: author.id, agent: author.agent ?? null },
    tasks,
    after,
  }));
  const runner = runnerOf(services, request, call);
  const project = projectOf(services, request, call);
  const asked = { by, project, base, runner, rebase, checkOnly, merges, ...timed(services, request, call) };
  const why = () => `${merges.length} for ${base}`;
  propose(services, call, by, { type: "merge_queue", ...asked }, why);
  bindOnce(services, call);
  return undefined;
};

export const mergeTake: RequestHandler<"merge_take"> = (services, request, call) => {
  const by = speakerOf(services, request, call);
  const { base, drain = false } = request;
  const runner = runnerOf(services, request, call);
  const project = projectOf(services, request, call);
  const asked = { by, project, base, runner, drain, ...timed(services, request, call) };
  // Its line is the event's: a runner asks at each change of the queue.
  call.propose({ type: "merge_take", ...asked });
  bindOnce(services, call);
  return undefined;
};

export const mergeAttach: RequestHandler<"merge_attach"> = (services, request, call) => {
  call.propose({ type: "merge_attach", runner: runnerOf(services, request, call) });
  bindOnce(services, call);
  return undefined;
};

export const mergeReport: RequestHandler<"merge_report"> = (services, request, call) => {
  const by = speakerOf(services, request, call);
  const { merge, run, outcome } = request;
  const runner = runnerOf(services, request, call);
  const asked = { by, runner, merge, run, outcome, ...timed(services, request, call) };
  const why = () => `${merge}: ${outcome.is}${"commit" in outcome ? ` ${outcome.commit.slice(0, 7)}` : ""}`;
  propose(services, call, by, { type: "merge_report", ...asked }, why);
  return undefined;
};

export const mergeCancel: RequestHandler<"merge_cancel"> = (services, request, call) => {
  const by = speakerOf(services, request, call);
  const { merge = null, runner = "", reason = askedFor } = request;
  const project = projectOf(services, request, call);
  const asked = { by, merge, project, runner, reason, ...timed(services, request, call) };
  const why = (reply: Reply) => (reply.ok ? `cancelled ${String(reply["cancelled"])}` : "");
  propose(services, call, by, { type: "merge_cancel", ...asked }, why);
  return undefined;
};

const askedFor: MergeReason = {
  code: "asked",
  text: "somebody cancelled it",
  files: [],
  more: 0,
  output: null,
};

function timed(services: Services, request: RequestOf<"merge_take" | "merge_cancel">, call: Call) {
  return { wallMs: services.clock.wall(), ...retryOf(request, call) };
}

function runnerOf({ node, engine }: Services, request: { readonly runner: string }, call: Call): Runner {
  const bound = { node, epoch: engine.epoch, connection: call.connection.number };
  return { name: request.runner, bound };
}

/** Takes the merges from the runners of a connection when it closes. Called after the proposal, so that the log has it. */
function bindOnce(services: Services, { connection }: Call): void {
  if (connection.merges && !connection.isClosed) return;
  connection.merges = true;
  const { node, engine, clock } = services;
  const bound = { node, epoch: engine.epoch, connection: connection.number };
  connection.tie(() => engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: clock.wall() }));
}

/** Returns who asks, and notes the sign of life; null: a person. */
function speakerOf(services: Services, request: Asking, call: Call): Actor | null {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  return callerOf(services, request, call);
}

function propose(
  services: Services,
  call: Call,
  by: Actor | null,
  command: Command,
  why: (reply: Reply) => string,
): void {
  call.propose(command, reply => {
    noteReply(services, call.type, by, reply, { why: why(reply) });
    return reply;
  });
}
