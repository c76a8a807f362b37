/** worktree_state, check_unneeded, check_record. The checks themselves run in the process of `kite check`. */

import { createHash } from "node:crypto";
import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { checkRequests, WorktreeStateReply } from "../../../protocol/lead/check.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Reply } from "../../core/tables/entries.ts";
import { callerOf, projectOf } from "../../requests/caller.ts";
import type { HandlersOf, RequestHandler } from "../../requests/handler.ts";
import { retryOf } from "../../server/call.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { noteReply } from "../../trail/decisions.ts";
import type { LeadServices } from "../services.ts";
import { unneededChecks } from "./unneeded.ts";

const worktreeState: RequestHandler<"worktree_state", LeadServices> = (services, { id, cwd }, call) => {
  if (id !== undefined) signOfLife(services, id);
  // It may take seconds: the connection's other requests do not wait for it.
  call.alone(stateAt(services, cwd).then(reply => call.reply({ ...reply })));
  return undefined;
};

const checkUnneeded: RequestHandler<"check_unneeded", LeadServices> = (services, { id, cwd, base }, call) => {
  if (id !== undefined) signOfLife(services, id);
  if (!isAbsolute(cwd)) {
    call.reply(relative("check_unneeded", cwd));
    return undefined;
  }
  const told = unneededChecks(services, cwd, base ?? null).then(found =>
    call.reply(
      "unreachable" in found ? refuse("path_unreachable", found.unreachable) : { ok: true, unneeded: found },
    ),
  );
  call.alone(told);
  return undefined;
};

const checkRecord: RequestHandler<"check_record", LeadServices> = (services, request, call) => {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  const { worktree, name, command, exit, ranMs, commit, dirty, files, began } = request;
  const actor = callerOf(services, request, call);
  const project = projectOf(services, request, call);
  const run = { project, worktree, name, command };
  if (began !== undefined) {
    if (exit === 0) services.greenRuns.ran({ ...run, ...began });
    call.reply({ ok: true, green: exit === 0, kept: false });
    return undefined;
  }
  const noted = (reply: Reply) => {
    const why = `the check ${name} is ${exit === 0 ? "green" : `red, exit code ${exit}`}`;
    if (reply.ok && exit === 0) services.greenRuns.ran({ ...run, commit, dirty });
    noteReply(services, "check_record", actor, reply, { project, file: worktree, ms: ranMs, why });
    return reply;
  };
  const result = { project, worktree, name, command, exit, ranMs, commit, dirty, files };
  const wallMs = services.clock.wall();
  call.propose({ type: "check_record", actor, ...result, wallMs, ...retryOf(request, call) }, noted);
  return undefined;
};

export const checkHandlers: HandlersOf<typeof checkRequests, LeadServices> = {
  worktree_state: worktreeState,
  check_unneeded: checkUnneeded,
  check_record: checkRecord,
};

async function stateAt(
  { engine, facts, greenRuns }: LeadServices,
  cwd: string,
): Promise<WorktreeStateReply | Refusal> {
  if (!isAbsolute(cwd)) return relative("worktree_state", cwd);
  const found = await facts.repository(cwd);
  if ("unreachable" in found) return refuse("path_unreachable", found.unreachable);
  const { project, worktree: top, gitDir } = found;
  const unknown = (reason: string) =>
    ({ ok: true, project, top, commit: null, dirty: null, files: 0, changed: [], reason }) as const;
  if (gitDir === null) return unknown(`${cwd} is in no git repository`);
  if (gitDir === top) return unknown(`${top} is a bare repository, without a worktree`);
  const { seq } = engine.state;
  const state = await facts.worktreeState({ worktree: top, gitDir });
  if ("unreachable" in state) return unknown(state.unreachable);
  greenRuns.saw(top, state, seq);
  const { commit, dirty, changed } = state;
  const named = [...changed].slice(0, limits.stateFilesNamedMax);
  const rows = named.map(([file, content]) => ({ file, content: shortId(content) }));
  return { ok: true, project, top, commit, dirty, files: changed.size, changed: rows };
}

function relative(type: string, cwd: string): Refusal {
  const error = `${type}: cwd: ${cwd} is relative; give an absolute path`;
  return refuse("invalid_request", error, { path: "cwd" });
}

function shortId(content: string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, limits.stateContentChars);
}
