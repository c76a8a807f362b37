/** register, heartbeat, deregister, session_rename. */
import { isAbsolute } from "node:path";
import { refuse } from "../../protocol/codes.ts";
import type { sessionRequests } from "../../protocol/schemas/session.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { retryOf } from "../server/call.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "../sessions/commands.ts";
import { forward } from "./forward.ts";
import type { HandlersOf, RequestHandler } from "./handler.ts";
import { whoami } from "./whoami.ts";

const register: RequestHandler<"register"> = async (services, request, call) => {
  const { connection } = call;
  if (!isAbsolute(request.cwd)) {
    const error = `register: cwd: ${request.cwd} is relative; give an absolute path`;
    call.reply(refuse("invalid_request", error, { path: "cwd" }));
    return;
  }
  const command = await beginCommand(services, {
    session: request.id,
    cwd: request.cwd,
    pid: request.pid ?? null,
    project: request.project ?? null,
    worktree: request.worktree ?? null,
    branch: request.branch ?? null,
    name: request.name ?? null,
    revive: true,
    spawn: request.spawn ?? null,
  });
  await endDeadIncarnations(services, request.id);
  const row = services.presence.seen(request.id);
  row.isContained = connection.view !== null;
  const isLive = (id: string) => services.engine.state.sessions.live.has(id);
  const { unplaced } = services.presence.of(request.id);
  call.propose({ ...command, ...retryOf(request, call) }, reply => {
    if (reply.ok) connection.registered(request.id, request.pid ?? null, isLive);
    return reply.ok && unplaced !== null ? { ...reply, unplaced } : reply;
  });
  // Later requests on this connection may name the session, so they wait until it exists.
  await services.engine.read(() => {});
};

/** An earlier lock or end on this connection may begin or end the session. */
const heartbeat: RequestHandler<"heartbeat"> = (services, request, call) =>
  services.engine.read(state => {
    const isKnown = state.sessions.live.has(request.id);
    if (isKnown) signOfLife(services, request.id);
    call.reply(isKnown ? { ok: true } : unknown(request.id));
  });

const deregister: RequestHandler<"deregister"> = (services, request, call) => {
  const incarnation = incarnationAt(services, request.id, request.pid ?? null);
  call.connection.deregistered(request.id);
  call.propose({
    type: "session_end",
    session: request.id,
    incarnation,
    cause: "deregistered",
    ...retryOf(request, call),
  });
  return undefined;
};

const rename = forward<"session_rename">({
  command: ({ of, name }, { by, project }) => ({ type: "session_rename", by, of, name, project }),
  line: (reply, { of, name }) => ({
    rule: "name",
    why: `${reply.ok ? String(reply["was"]) : of} is called ${name}`,
  }),
});

export const sessionHandlers: HandlersOf<typeof sessionRequests, HookServices> = {
  register,
  heartbeat,
  deregister,
  whoami,
  session_rename: rename,
};

function unknown(id: string): Reply {
  return refuse("unknown_session", `no session ${id} is registered; send register first`);
}
