/**
 * The files that the sessions' branches changed against their base, as git's commits have them, and those with work of the
 * session that is not committed.
 *
 * Invariants: a session has at most one row, and is alive; the row is of the project and the branch that the session has; a file
 * is named by its path within the repository, once; a row has at most `limits.branchFilesMax` files.
 */
import type { Limits } from "../../../protocol/limits.ts";
import { Records, sets } from "../frame/records.ts";
import { valueList } from "../frame/saved-rows.ts";

/** A file with the id of its content in git, or `uncommitted`; null: the branch removed it. */
export type BranchFile = readonly [path: string, blob: string | null];

/** In place of the id of a content: the session's work in the file is not committed, so no id tells whether another is the same. */
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
