/** What a try to merge a branch needs, and what becomes of it. */

import type { MergeReason, MergeReasonCode, MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import type { Git } from "./git.ts";
import type { Programs } from "./programs.ts";

/** What became of a try. */
export type Tried =
  | { readonly is: "merged"; readonly commit: string; readonly already: boolean }
  | { readonly is: "checked"; readonly commit: string }
  | { readonly is: "returned"; readonly reason: MergeReason }
  /** The base, git or the disk keeps it from going on: not the author's affair. */
  | { readonly is: "stopped"; readonly reason: MergeReason };

/** A check that was red, or a setup that failed. */
export interface Red {
  /** What was red: `the check test`, `the setup`. */
  readonly what: string;
  /** `exit code 1`, `killed at the time limit`, `changed a.ts`. */
  readonly how: string;
  readonly output: string;
}

export interface Trying {
  readonly git: Git;
  readonly gitDir: string;
  /** Where the worktree of the try is made. */
  readonly folder: string;
  readonly merge: Pick<MergeRow, "base" | "branch" | "rebase" | "checkOnly" | "commit">;
  /** The commit of the trial before in the same command; null: the base's own. Only for `checkOnly`. */
  readonly on: string | null;
  /** Runs the checks that matter after a change of these files; null: all are green. */
  readonly checks: (worktree: string, files: readonly string[], git: Git) => Promise<Red | null>;
  /** The programs of the repository's own git configuration that a person trusted. */
  readonly trusted: Programs;
  /** Who keeps a path of the base's checkout as it is: `alice has uncommitted work in it`. */
  readonly keepers: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Asks for the right to move the base to this commit. Throws if it is gone. */
  readonly mayMove: (commit: string) => Promise<void>;
  /** Tells a person what changes nothing about the merge. */
  readonly say: (text: string) => void;
}

/** Returns a reason within its bounds. */
export function reasonFor(
  code: MergeReasonCode,
  text: string,
  files: readonly string[] = [],
  output: string | null = null,
): MergeReason {
  const shown = files.slice(0, limits.mergeFilesMax).map(file => plain(file, limits.quoteChars));
  const end = output === null ? null : plain(output.slice(-limits.mergeOutputChars), limits.mergeOutputChars);
  const more = files.length - shown.length;
  return { code, text: plain(text, limits.mergeReasonChars), files: shown, more, output: end };
}

/** Returns `main` for `refs/heads/main`. */
export function shortOf(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

/** Whether the system refused something: the disk is full, a folder is gone. */
export function isSystems(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
