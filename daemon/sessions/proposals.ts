/** Builds commands from a session and the facts about it. */

import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import type { Actor } from "../core/frame/actors.ts";
import { needsName } from "../core/sessions/begin.ts";
import type { State } from "../core/state.ts";
import type { LockRequest } from "../core/tables/locks.ts";
import type { SessionBegin } from "../core/tables/sessions.ts";
import type { Repository } from "../facts/repositories.ts";
import type { Services } from "../options.ts";
import type { Presence } from "./presence.ts";

/** Returns the actor of a session: the incarnation of the calling process, else the first live one. */
export function actorOf(
  services: Pick<Services, "engine">,
  session: string,
  agent: string | null,
  pid: number | null,
): Actor {
  const incarnations = services.engine.state.sessions.live.get(session)?.incarnations;
  let own = incarnations?.[0];
  if (pid !== null && own?.anchor?.pid !== pid) own = incarnations?.find(i => i.anchor?.pid === pid) ?? own;
  return { session, agent, incarnation: own?.ordinal ?? 0 };
}

/** Returns the command for a lock, for requests and for hooks. */
export function lockCommand(
  services: Pick<Services, "clock"> & { readonly engine: Pick<Services["engine"], "state"> },
  of: Pick<LockRequest, "actor" | "files" | "single" | "kind" | "waitMs"> & Partial<LockRequest>,
  cwd: string,
  project: string | undefined,
): LockRequest & { readonly type: "lock_request" } {
  const known = services.engine.state.sessions.live.get(of.actor.session)?.project;
  const { untoldMs, beside } = of;
  const command = {
    type: "lock_request" as const,
    actor: of.actor,
    files: of.files,
    single: of.single,
    kind: of.kind,
    waitMs: of.waitMs,
    depth: of.depth ?? limits.queueDepth,
    placeMs: of.placeMs ?? 0,
    detach: of.detach ?? false,
    progress: of.progress ?? false,
    prompt: of.prompt ?? null,
    flight: of.flight ?? null,
    ...(untoldMs === undefined ? {} : { untoldMs }),
    ...(beside === undefined ? {} : { beside }),
    yieldMs: of.yieldMs ?? limits.yieldMs,
    ancestors: of.ancestors ?? [],
    bound: of.bound ?? null,
    project: project ?? known ?? "default",
    cwd,
    wallMs: services.clock.wall(),
  };
  return of.retry === undefined ? command : { ...command, retry: of.retry };
}

/** The known facts of a session that begins; `beginCommand` looks up the others. */
interface Beginning {
  readonly session: string;
  readonly cwd: string;
  readonly pid: number | null;
  readonly project: string | null;
  readonly worktree: string | null;
  readonly branch: string | null;
  readonly name: string | null;
  readonly revive: boolean;
  /** The record of the spawned agent that this session is; null: it is none. */
  readonly spawn: string | null;
  /** Its agent client, if its entries name one. */
  readonly client?: string | undefined;
}

/** Returns the command that registers a session, with its repository and its process. */
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
    ...(isSpawnId(beginning.spawn) ? { spawn: beginning.spawn } : {}),
    ...(beginning.client === undefined ? {} : { client: beginning.client }),
    wallMs: clock.wall(),
  };
}

/** Whether it can be the id of a record: it comes from a process's environment. */
function isSpawnId(id: string | null): id is string {
  return id !== null && id.length <= limits.idBytes && /^a-[0-9a-z]+-[0-9a-z]+$/.test(id);
}

/**
 * Returns where a session works. If the directory cannot be read in time, the known repository counts, else the
 * directory is a project of its own. `query` shows this, and the session's next event tries again.
 */
async function repositoryOf(
  { facts, engine, presence }: Services,
  { session, cwd, project }: Beginning,
): Promise<Pick<Repository, "project" | "worktree" | "branch">> {
  // It may come right after a checkout, and keeps this branch until it is registered again.
  const found = await facts.repository(cwd, true);
  const row = presence.of(session);
  if (!("unreachable" in found)) {
    row.unplaced = null;
    return found;
  }
  // A session that names its project does not depend on the directory.
  row.unplaced = project === null ? found.unreachable : null;
  return engine.state.sessions.live.get(session) ?? { project: cwd, worktree: cwd, branch: null };
}

/**
 * Notes a sign of life, and returns what is known of it; a lost session is found again. An unknown agent of the session begins, with the name from its
 * client, if any.
 */
export function signOfLife(
  services: Services,
  session: string,
  agent: string | null = null,
  name: string | null = null,
): Presence {
  const row = services.presence.seen(session, agent);
  const known = services.engine.state.sessions.live.get(session);
  if (agent !== null && known !== undefined && needsName(known, agent, name)) {
    services.engine.submitWithRetry({ type: "agent_begin", session, agent, name });
  }
  if (known !== undefined && known.lostAt !== null) {
    services.engine.submitWithRetry({ type: "session_found", session });
  }
  return row;
}

/** Ends incarnations whose process is gone before a new one begins, so that it does not count as a second terminal. */
export async function endDeadIncarnations(services: Services, session: string): Promise<void> {
  const known = services.engine.state.sessions.live.get(session);
  const dead = known?.incarnations.filter(i => i.anchor !== null && !services.facts.isAlive(i.anchor)) ?? [];
  for (const { ordinal: incarnation, begun } of dead) {
    await services.engine.submitAndWait({
      type: "session_end",
      session,
      incarnation,
      begun,
      cause: "anchor_gone",
    });
  }
}

/** Returns the incarnation of a process, or null for the whole session. */
export function incarnationAt(services: Services, session: string, pid: number | null): number | null {
  const known = services.engine.state.sessions.live.get(session);
  return known?.incarnations.find(i => pid !== null && i.anchor?.pid === pid)?.ordinal ?? null;
}

// The directories in which sessions work.

interface Places {
  readonly cwd: string;
  readonly worktree: string;
  readonly project: string;
}

/** The directories of one session. */
export function placesOf({ cwd, worktree, project }: Places): readonly string[] {
  return [cwd, worktree, project];
}

/** The directories of all sessions. */
export function* directoriesOf(state: State): Generator<string, void> {
  for (const session of state.sessions.live.values()) yield* placesOf(session);
}
