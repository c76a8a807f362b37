/** Whether agents' shell lines explain what changes in a worktree now. */
import { idOfKey } from "../core/tables/sessions.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import type { WipingLines } from "./lines.ts";

/** What is known of lines besides what each agent does. */
interface KnownLines {
  readonly lines: Pick<WipingLines, "sessionsIn">;
  readonly compared: {
    /** How many lines have ended in each worktree and are still to be looked at. */
    readonly ends: ReadonlyMap<string, number>;
  };
}

/**
 * Whether a shell command of an agent that works in the worktree runs, or one that may wipe work in it, wherever its agent works;
 * or the end of one is still to be looked at. What changes meanwhile is looked at then, and tells of it. Costs a look at each
 * such session.
 */
export function runsLine(
  { engine, presence }: Pick<HookServices, "engine" | "presence">,
  { lines, compared }: KnownLines,
  worktree: string,
): boolean {
  if (compared.ends.has(worktree)) return true;
  const { worktrees, live } = engine.state.sessions;
  const runs = (session: string) => {
    const row = presence.of(session);
    return [row, ...row.agents.values()].some(({ doing }) => doing?.verb === "runs");
  };
  for (const key of worktrees.get(worktree) ?? []) if (runs(idOfKey(key))) return true;
  for (const session of lines.sessionsIn(worktree)) if (live.has(session) && runs(session)) return true;
  return false;
}
