/** Whether agents' shell lines explain what changes in a worktree now. */
import { idOfKey } from "../core/sessions/start-key.ts";
import type { HookServices } from "../hooks/hook-services.ts";

/**
 * Whether an agent's shell command runs in the worktree, or its end is still to be looked at (`ends` counts those). What changes
 * meanwhile is looked at then, and tells of it.
 */
export function runsLine(
  { engine, presence }: Pick<HookServices, "engine" | "presence">,
  ends: ReadonlyMap<string, number>,
  worktree: string,
): boolean {
  if (ends.has(worktree)) return true;
  for (const key of engine.state.sessions.worktrees.get(worktree) ?? []) {
    const row = presence.of(idOfKey(key));
    if ([row, ...row.agents.values()].some(({ doing }) => doing?.verb === "runs")) return true;
  }
  return false;
}
