/** The index of sessions by the worktrees in which they work. */
import { SortedKeys } from "../sorted-keys.ts";
import { type Start, startKey } from "./start-key.ts";

type Working = Start & { readonly worktree: string };

/** Sort keys of live sessions by the tops of their worktrees, each in the order they began. */
export type Worktrees = Map<string, SortedKeys>;

export function enterWorktree(worktrees: Worktrees, session: Working): void {
  const known = worktrees.get(session.worktree);
  if (known === undefined) worktrees.set(session.worktree, new SortedKeys(startKey(session)));
  else known.add(startKey(session));
}

export function leaveWorktree(worktrees: Worktrees, session: Working): void {
  const known = worktrees.get(session.worktree);
  known?.delete(startKey(session));
  if (known?.size === 0) worktrees.delete(session.worktree);
}
