/**
 * The files that each session's branch changed against its base, as git's commits have them. Files with uncommitted work of
 * the session are among them.
 *
 * Invariants: a session has at most one row, and is alive. The row has the project and the branch of the session. It names
 * each file once, by its path within the repository. A row has at most `limits.branchFilesMax` files.
 */
import type { Limits } from "../../../protocol/limits.ts";
import { Records, sets } from "../frame/records.ts";
import { valueList } from "../frame/saved-rows.ts";

/** A file with the id of its content in git, or `uncommitted`; null: the branch removed it. */
export type BranchFile = readonly [path: string, blob: string | null];

/**
 * Stands in place of a content's id: the session's work in the file is not committed. No id can tell whether another one's
 * work is the same.
 */
export const uncommitted = "uncommitted";

export interface BranchRow {
  readonly session: string;
  readonly project: string;
  readonly branch: string | null;
  /** Never empty. */
  readonly files: readonly BranchFile[];
}

/**
 * The session's branch changed these files against its base, in commits, and the session others since: at most
 * `limits.branchFilesMax`. None: an empty list.
 */
export interface BranchFilesSeen {
  readonly session: string;
  readonly files: readonly BranchFile[];
}

/** These commands by name. */
export interface BranchCommands {
  branch_files: BranchFilesSeen;
}

export const branchRecords = new Records("bySession", ({ session }: BranchRow) => session, {
  /** Sessions by project and file. */
  byFile: sets(({ project, files }) => files.map(([path]) => branchFileKey(project, path))),
});

export type Branches = ReturnType<typeof branchRecords.empty>;

export function branchFileKey(project: string, path: string): string {
  return `${project}\n${path}`;
}

export const branchRows = {
  lists: {
    branches: valueList(
      ({ bySession }: Branches) => bySession,
      (branches, row) => branchRecords.put(branches, row),
    ),
  },
};

interface Checked {
  readonly branches: Branches;
  readonly sessions: { readonly live: ReadonlyMap<string, Pick<BranchRow, "project" | "branch">> };
  readonly limits: Pick<Limits, "branchFilesMax">;
}

/** Yields a sentence for each broken invariant. */
export function* checkBranches({ branches, sessions, limits }: Checked): Generator<string> {
  yield* branchRecords.check(branches, "branches with files");
  for (const { session: id, project, branch, files } of branches.bySession.values()) {
    const session = sessions.live.get(id);
    if (session === undefined) yield `${id} has ended and its branch has files`;
    else if (session.project !== project || session.branch !== branch)
      yield `the files of ${id} are of another branch`;
    if (files.length === 0 || files.length > limits.branchFilesMax)
      yield `the branch of ${id} has ${files.length} files`;
    if (new Set(files.map(([path]) => path)).size < files.length)
      yield `the branch of ${id} has a file twice`;
  }
}
