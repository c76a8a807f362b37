import type { ActorRow } from "./lock.ts";

/** A file with uncommitted work in it, as `query` shows it. */
export interface WriteRow {
  /** From the top of the worktree. */
  readonly file: string;
  readonly path: string;
  readonly project: string;
  readonly worktree: string;
  /**
   * How git sees it: `changed` in the working tree, all of it `staged`, or `untracked`; `unknown` where git could
   * not be asked in time.
   */
  readonly state: "changed" | "staged" | "untracked" | "unknown";
  /** Who wrote it since it was committed, the latest first. */
  readonly writers: readonly WriterRow[];
  readonly holder: ActorRow | null;
}

/** Uncommitted work in the same file of two worktrees of one repository. */
export interface RiskRow {
  readonly file: string;
  readonly project: string;
  readonly sides: readonly [MergeSideRow, MergeSideRow];
}

/** Who wrote it on one side. */
export interface MergeSideRow extends ActorRow {
  readonly worktree: string;
  /** Null: not known, or none. */
  readonly branch: string | null;
}

export interface WriterRow extends ActorRow {
  /** Its session is here; of one that has ended the name is that of its last write. */
  readonly live: boolean;
  /** `edit`: a tool that told so. `shell`: a shell command, as was seen afterwards. */
  readonly by: "edit" | "shell";
  /** Wall time in milliseconds. */
  readonly at: number;
}
