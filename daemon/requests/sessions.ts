/** register, heartbeat, deregister, session_rename. */

import { isAbsolute } from "node:path";
import { refuse } from "../../protocol/codes.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { sessionRequests } from "../../protocol/schemas/session.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../core/tables/base-state.ts";
import type { Reply } from "../core/tables/entries.ts";
import { latestAt, sessionsAt } from "../core/tables/sessions.ts";
import type { Needs } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import type { Call } from "../server/call.ts";
import { retryOf } from "../server/call.ts";
import {
  actorOf,
  beginCommand,
  endDeadIncarnations,
  incarnationAt,
  signOfLife,
} from "../sessions/proposals.ts";
import { nameOf } from "../views/sessions.ts";
import { forward, type HandlersOf } from "./handler.ts";

// whoami: finds the session of a call that comes through a process shared by several.

function whoami(
  services: Services & Needs<"calls">,
  { toolUse, id: of, typed, shells, pid, pids = [], starts = [] }: RequestOf<"whoami">,
  call: Call,
): Promise<void> | undefined {
  return services.engine.read(state => {
    const { uses } = services.calls;
    if (of === undefined && typed !== undefined && pids.length > 0) {
      call.reply(callerBelow(services, state, { typed, shells, pids, starts }));
      return;
    }
    const by = typed === undefined ? "tool_use" : "typed";
    const use =
      toolUse !== undefined
        ? uses.of(toolUse)
        : of !== undefined && typed !== undefined
          ? uses.findByCommandLine(of, typed, shells, atWork(services, of))
          : null;
    if (use !== null && "agents" in use) {
      call.reply(refuse("ambiguous_caller", ambiguous, { agents: use.agents }));
      return;
    }
    const user = use === null ? undefined : state.sessions.live.get(use.session);
    const session =
      user ?? (pid === undefined ? undefined : latestAt(state.sessions, pid)) ?? nearest(state, pids, starts);
    if (session === undefined) {
      const error = "no session is known by this tool use or process; register one";
      call.reply(refuse("unknown_session", error));
      return;
    }
    const known = user !== undefined && use !== null;
    const agent = known ? use.agent : null;
    const { id, project } = session;
    const name = nameOf(services, actorOf(services, id, agent, pid ?? null));
    const cwd = known ? use.cwd : session.cwd;
    call.reply({ ok: true, id, agent, name, project, cwd, by: known ? by : "process" });
  });
}

const ambiguous =
  "nothing was done: several agents of this session are at work, and no line that one of them typed tells which of them " +
  "runs this; run the kite command again, alone in its line and not in a script";

/** A command line, and the processes above it, the nearest first. */
interface Typed {
  readonly typed: string;
  readonly shells: readonly string[] | undefined;
  readonly pids: readonly number[];
  readonly starts: readonly string[];
}

/**
 * Finds whose shell runs a command where no variable names the session: of the sessions of the nearest process, which a client
 * may share among them, the one whose agent typed the line. Only for clients that installed entries name: of the others a
 * variable tells.
 */
function callerBelow(
  services: Services & Needs<"calls">,
  state: State,
  { typed, shells, pids, starts }: Typed,
) {
  const close = nearest(state, pids, starts);
  const anchor = close?.incarnations.find(one => pids.includes(one.anchor?.pid ?? 0))?.anchor ?? null;
  const all = anchor === null ? [] : sessionsAt(state.sessions, anchor);
  const sessions = all.filter(({ client }) => client !== undefined);
  const [only] = sessions;
  if (only === undefined)
    return refuse("unknown_session", "no session of a named client is above this command");
  const found = sessions.flatMap(session => {
    const { uses } = services.calls;
    const use = uses.findByCommandLine(session.id, typed, shells, atWork(services, session.id));
    return use === null ? [] : [{ session, use }];
  });
  const [first] = found;
  if (found.length > 1 || (first === undefined && sessions.length > 1))
    return refuse("ambiguous_caller", ambiguousSessions, { agents: sessions.length });
  if (first !== undefined && "agents" in first.use)
    return refuse("ambiguous_caller", ambiguous, { agents: first.use.agents });
  const { id, project, cwd } = first?.session ?? only;
  const use = first === undefined || "agents" in first.use ? null : first.use;
  const agent = use?.agent ?? null;
  const name = nameOf(services, actorOf(services, id, agent, null));
  const by = use === null ? ("process" as const) : ("typed" as const);
  return { ok: true as const, id, agent, name, project, cwd: use?.cwd ?? cwd, by };
}

const ambiguousSessions =
  "nothing was done: several sessions share the process above this command, and no line that one of their agents typed tells " +
  "which of them runs this; run the kite command again, alone in its line and not in a script";

/** The agents at work beside the session's main agent. */
function atWork({ presence }: Services, session: string): ReadonlySet<string> {
  const agents = [...presence.of(session).agents];
  return new Set(agents.filter(([, { active }]) => active).map(([agent]) => agent));
}

/** Without a start time a process counts by its id alone. */
function nearest(
  { sessions }: State,
  pids: readonly number[],
  starts: readonly string[],
): Session | undefined {
  for (const [i, pid] of pids.entries()) {
    const startTime = starts[i];
    const session = latestAt(sessions, pid);
    if (session === undefined) continue;
    if (startTime === undefined) return session;
    const [first, ...others] = sessionsAt(sessions, { pid, startTime });
    if (first !== undefined)
      return others.reduce((last, one) => (one.begun > last.begun ? one : last), first);
  }
  return undefined;
}

async function register(services: Services, request: RequestOf<"register">, call: Call): Promise<void> {
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
}

/** An earlier lock or end on this connection may begin or end the session. */
function heartbeat(
  services: Services,
  request: RequestOf<"heartbeat">,
  call: Call,
): Promise<void> | undefined {
  return services.engine.read(state => {
    const isKnown = state.sessions.live.has(request.id);
    if (isKnown) signOfLife(services, request.id);
    call.reply(isKnown ? { ok: true } : unknown(request.id));
  });
}

function deregister(
  services: Services,
  request: RequestOf<"deregister">,
  call: Call,
): Promise<void> | undefined {
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
}

const rename = forward<"session_rename">({
  command: ({ of, name }, { by, project }) => ({ type: "session_rename", by, of, name, project }),
  line: (reply, { of, name }) => ({
    rule: "name",
    why: `${reply.ok ? String(reply["was"]) : of} is called ${name}`,
  }),
});

export const sessionHandlers: HandlersOf<typeof sessionRequests, Services & Needs<"calls">> = {
  register,
  heartbeat,
  deregister,
  whoami,
  session_rename: rename,
};

function unknown(id: string): Reply {
  return refuse("unknown_session", `no session ${id} is registered; send register first`);
}
