/** Where HEAD of a worktree is, what is in progress there and whose it is: between the daemon, adapters and screens. */

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
