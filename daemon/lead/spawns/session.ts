/** Tells the log what the sessions of spawned agents do, as their events show it. */
import { isFinal, mayMove, type Spawn, spawnAt } from "../../core/lead/tables/spawns.ts";
import type { Services } from "../../services.ts";

type Deps = Pick<Services, "clock" | "presence"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
};

/** The session's client asks a person, goes on or works. A session whose turn ends is `turnOver`'s. */
export function spawnSeen(services: Deps, session: string): void {
  const spawn = spawnAt(services.engine.state.spawns, session);
  if (spawn === undefined) return;
  const { active, dialogs } = services.presence.of(session);
  if (dialogs.size > 0) move(services, spawn, "waits_on_person");
  else if (active) move(services, spawn, "running");
  else if (spawn.state === "waits_on_person") move(services, spawn, "idle");
}

/** The turn of the session's main agent is over. Before its first turn an agent that starts is not idle. */
export function spawnTurnOver(services: Deps, session: string): void {
  const spawn = spawnAt(services.engine.state.spawns, session);
  if (spawn !== undefined) move(services, spawn, "idle");
}

/** A person prompted the session: an agent that came back after it had been stopped stays. */
export function spawnPrompted({ engine, clock }: Deps, session: string): void {
  const spawn = spawnAt(engine.state.spawns, session);
  if (spawn?.watchedUntil === undefined || isFinal(spawn.state)) return;
  const moved = { spawn: spawn.id, state: "running", prompted: true, wallMs: clock.wall() } as const;
  engine.submitWithRetry({ type: "spawn_moved", ...moved });
}

/**
 * Returns the directory in which a session begins. A client that brings back an agent names the project's folder first,
 * although the agent goes on in its own worktree.
 */
export async function beginningIn(
  { engine, facts }: Pick<Deps, "engine"> & Pick<Services, "facts">,
  session: string,
  cwd: string,
): Promise<string> {
  const spawn = spawnAt(engine.state.spawns, session);
  if (spawn === undefined || !isFinal(spawn.state) || spawn.worktree === null || cwd !== spawn.project)
    return cwd;
  const found = await facts.repository(spawn.worktree);
  return "worktree" in found && found.worktree === spawn.worktree ? spawn.worktree : cwd;
}

/** Whether an event in `cwd` shows that the agent is back in its own worktree, while its session counts elsewhere. */
export function isBackInWorktree({ engine }: Pick<Deps, "engine">, session: string, cwd: string): boolean {
  const { spawns, sessions } = engine.state;
  const own = spawnAt(spawns, session)?.worktree ?? null;
  const now = sessions.live.get(session)?.worktree;
  return own !== null && own !== now && (cwd === own || cwd.startsWith(`${own}/`));
}

function move({ engine, clock }: Deps, spawn: Spawn, to: "running" | "waits_on_person" | "idle"): void {
  if (isFinal(spawn.state) || !mayMove(spawn.state, to)) return;
  engine.submitWithRetry({ type: "spawn_moved", spawn: spawn.id, state: to, wallMs: clock.wall() });
}
