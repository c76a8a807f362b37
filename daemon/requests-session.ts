/** register, heartbeat, deregister. */
import { isAbsolute } from "node:path";
import { refuse } from "../protocol/codes.ts";
import { plain } from "../protocol/text.ts";
import { retryOf } from "./call.ts";
import { needsName } from "./core/agents.ts";
import type { SessionBegin } from "./core/entry.ts";
import type { Reply } from "./core/step.ts";
import type { RequestHandler } from "./dispatch.ts";
import type { Repository } from "./facts-git.ts";
import type { Services } from "./services.ts";

export const register: RequestHandler<"register"> = async (services, request, call) => {
  const { connection } = call;
  if (!isAbsolute(request.cwd)) {
    const error = `register: cwd: ${request.cwd} is relative, and nobody knows to what; give an absolute path`;
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
  });
  await endDeadIncarnations(services, request.id);
  services.presence.seen(request.id);
  const isLive = (id: string) => services.engine.state.sessions.live.has(id);
  const { unplaced } = services.presence.of(request.id);
  call.propose({ ...command, ...retryOf(request, call) }, reply => {
    if (reply.ok) connection.registered(request.id, request.pid ?? null, isLive);
    return reply.ok && unplaced !== null ? { ...reply, unplaced } : reply;
  });
  // What follows on this connection may speak of the session: it waits until it is there.
  await services.engine.read(() => {});
};

/** A lock or an end that came before on this connection may begin or end the session. */
export const heartbeat: RequestHandler<"heartbeat"> = (services, request, call) =>
  services.engine.read(state => {
    const known = state.sessions.live.has(request.id);
    call.reply(known ? signOfLife(services, request.id) : unknown(request.id));
  });

export const deregister: RequestHandler<"deregister"> = (services, request, call) => {
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

/** What is known of a session that begins; the rest is looked up. */
export interface Beginning {
  readonly session: string;
  readonly cwd: string;
  readonly pid: number | null;
  readonly project: string | null;
  readonly worktree: string | null;
  readonly branch: string | null;
  readonly name: string | null;
  readonly revive: boolean;
}

/** The command that registers a session, with its repository and its process. */
export async function beginCommand(
  services: Services,
  beginning: Beginning,
): Promise<SessionBegin & { readonly type: "session_begin" }> {
  const { facts, clock } = services;
  const repository = await repositoryOf(services, beginning);
  return {
    type: "session_begin",
    session: beginning.session,
    anchor: beginning.pid === null ? null : facts.anchor(beginning.pid),
    cwd: beginning.cwd,
    project: beginning.project ?? repository.project,
    worktree: beginning.worktree ?? repository.worktree,
    branch: beginning.branch ?? repository.branch,
    name: beginning.name === null ? null : plain(beginning.name) || "unnamed",
    revive: beginning.revive,
    wallMs: clock.wall(),
  };
}

/**
 * Where a session works. A directory that could not be looked at in time is still where it works: what was known of it
 * before counts, else it is a project of its own; that is shown, and looked at again with the session's next event.
 */
async function repositoryOf(
  { facts, engine, presence }: Services,
  { session, cwd, project }: Beginning,
): Promise<Pick<Repository, "project" | "worktree" | "branch">> {
  const found = await facts.repository(cwd);
  const row = presence.of(session);
  if (!("unreachable" in found)) {
    row.unplaced = null;
    return found;
  }
  // Who said which project it is has no need of the look.
  row.unplaced = project === null ? found.unreachable : null;
  return engine.state.sessions.live.get(session) ?? { project: cwd, worktree: cwd, branch: null };
}

/**
 * A sign of life; a session that counted as lost is found again. An agent within it that is not known yet begins, under
 * the name that its client gives it, if any.
 */
export function signOfLife(
  services: Services,
  session: string,
  agent: string | null = null,
  name: string | null = null,
): Reply {
  services.presence.seen(session, agent);
  const known = services.engine.state.sessions.live.get(session);
  if (agent !== null && known !== undefined && needsName(known, agent, name)) {
    services.engine.insist({ type: "agent_begin", session, agent, name });
  }
  if (known !== undefined && known.lostAt !== null) {
    services.engine.insist({ type: "session_found", session });
  }
  return { ok: true };
}

/** Incarnations whose process is gone end before a new one begins, so that it does not count as a second terminal. */
export async function endDeadIncarnations(services: Services, session: string): Promise<void> {
  const known = services.engine.state.sessions.live.get(session);
  const dead = known?.incarnations.filter(i => i.anchor !== null && !services.facts.isAlive(i.anchor)) ?? [];
  for (const { ordinal: incarnation, begun } of dead) {
    await services.engine.ask({ type: "session_end", session, incarnation, begun, cause: "anchor_gone" });
  }
}

/** The incarnation of a process, or null for the whole session. */
export function incarnationAt(services: Services, session: string, pid: number | null): number | null {
  const known = services.engine.state.sessions.live.get(session);
  return known?.incarnations.find(i => pid !== null && i.anchor?.pid === pid)?.ordinal ?? null;
}

function unknown(id: string): Reply {
  return refuse("unknown_session", `no session ${id} is registered; send register first`);
}
