import type { ActorRow } from "./lock.ts";

/** A file with uncommitted work, as `query` shows it. */
export interface WriteRow {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly path: string;
  readonly project: string;
  readonly worktree: string;
  /**
   * Git's status: `changed` in the working tree, all of it `staged`, or `untracked`; `unknown` if git gave no
   * answer in time.
   */
  readonly state: "changed" | "staged" | "untracked" | "unknown";
  /** The actors that wrote it since its last commit, the latest first. */
  readonly writers: readonly WriterRow[];
  readonly holder: ActorRow | null;
}

/** Uncommitted work in the same file of two worktrees of one repository. */
export interface RiskRow {
  readonly file: string;
  readonly project: string;
  readonly sides: readonly [MergeSideRow, MergeSideRow];
}

/** The writer on one side of a merge risk. */
export interface MergeSideRow extends ActorRow {
  readonly worktree: string;
  /** The branch; null: unknown, or none. */
  readonly branch: string | null;
}

export interface WriterRow extends ActorRow {
  /** Whether its session is alive; if not, `name` is the name at its last write. */
  readonly live: boolean;
  /** `edit`: a tool reported the write. `shell`: the daemon detected it after a shell command. */
  readonly by: "edit" | "shell";
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** The events of writes. */
export type WriteEvent =
  | {
      /** A write appeared after its lock had ended. */
      readonly event: "lost_update";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow | null;
    }
  | {
      /** A file changed while a shell command ran that `holder` holds, or wrote last and has not committed (`held` false). */
      readonly event: "bypassed";
      readonly file: string;
      readonly path: string;
      readonly writer: ActorRow;
      readonly holder: ActorRow;
      readonly held: boolean;
    }
  | {
      /** The same file has uncommitted work in two worktrees: sent once per file and pair of worktrees. */
      readonly event: "merge_risk";
      readonly file: string;
      readonly project: string;
      readonly sides: readonly [MergeSideRow, MergeSideRow];
    }
  | {
      readonly event: "file_conflict";
      readonly file: string;
      readonly path: string;
      readonly sessions: readonly [string, string];
    };
