/** Where HEAD of a worktree is, what is in progress there and whose it is: between the daemon, adapters and screens. */

import { limits } from "./limits.ts";

export type OperationKind = "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "bisect";

/** HEAD of a worktree at one moment. */
export interface HeadPlace {
  /** The full name of the ref that HEAD names; null: it is detached. */
  readonly ref: string | null;
  /** The id of the commit; null: before the first one. */
  readonly commit: string | null;
  /** What is in progress; null: nothing. */
  readonly operation: OperationKind | null;
  /** The branch that the operation began on, by its short name; null: none, or not known. */
  readonly of: string | null;
}

/** Where a commit would land, in a few words: `main`, `detached at 0123456789`, `rebasing main`, `main, merging`. */
export function headWords({ ref, commit, operation, of }: HeadPlace): string {
  const at = commit === null ? "detached" : `detached at ${commit.slice(0, limits.commitIdChars)}`;
  const place = ref === null ? at : branchName(ref);
  switch (operation) {
    case null:
      return place;
    case "rebase":
      return `rebasing ${of ?? place}`;
    case "bisect":
      return `bisecting ${of ?? place}`;
    case "am":
      return `${place}, applying patches`;
    default:
      return `${place}, ${gerunds[operation]}`;
  }
}

const gerunds = { merge: "merging", "cherry-pick": "cherry-picking", revert: "reverting" } as const;

/** The short name of a branch; the full one of another ref. */
export function branchName(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : ref;
}

/** A folder beside the worktree, named after what it is for. */
export function worktreeFolder(worktree: string, name: string): string {
  return `${worktree}-${name.replace(/[^\w.-]+/g, "-").replace(/^[.-]+|[.-]+$/g, "") || "other"}`;
}
