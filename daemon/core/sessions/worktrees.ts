/** The index of sessions by the worktrees in which they work. */
import { addToSorted, removeFromSorted, type SortedSets } from "../sorted-keys.ts";
import { type Start, startKey } from "./start-key.ts";

type Working = Start & { readonly worktree: string };

/** Sort keys of live sessions by the tops of their worktrees, each in the order they began. */
export type Worktrees = SortedSets;

export function enterWorktree(worktrees: Worktrees, session: Working): void {
  addToSorted(worktrees, session.worktree, startKey(session));
}

export function leaveWorktree(worktrees: Worktrees, session: Working): void {
  removeFromSorted(worktrees, session.worktree, startKey(session));
}
