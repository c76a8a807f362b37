/** The worktrees of which something is known. */
import type { BaseState } from "../base-state.ts";
import { idOfKey } from "./start-key.ts";

/**
 * Returns the worktrees in which a session works, in the order in which the oldest sessions of each began, then those
 * with uncommitted work; each with its project.
 */
export function knownWorktrees({ sessions, writes }: BaseState): ReadonlyMap<string, string> {
  const oldestFirst = [...sessions.worktrees].sort(([, a], [, b]) =>
    (a.first ?? "") < (b.first ?? "") ? -1 : 1,
  );
  const found = new Map<string, string>();
  for (const [worktree, keys] of oldestFirst) {
    const latest = sessions.live.get(idOfKey(keys.last ?? ""));
    if (latest !== undefined) found.set(worktree, latest.project);
  }
  for (const [worktree, [first]] of writes.byWorktree) {
    const work = first === undefined ? undefined : writes.files.get(first);
    if (work !== undefined) found.set(worktree, work.project);
  }
  return found;
}

/** Returns the innermost worktree around the path in which a session of the project works, or null. */
export function worktreeAround({ sessions }: BaseState, project: string, path: string): string | null {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const folder = path.slice(0, end);
    const latest = idOfKey(sessions.worktrees.get(folder)?.last ?? "");
    if (sessions.live.get(latest)?.project === project) return folder;
  }
  return null;
}
