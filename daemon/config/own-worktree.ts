/**
 * Whether a worktree is its repository's own. A `.git` file or link may name any repository: a folder that came in an archive
 * could so borrow the checks that a person trusts for the project around it.
 */
import { basename, dirname, join, resolve } from "node:path";
import type { Repository } from "../facts/repositories.ts";

/** Reads the filesystem: null if the file does not exist. */
export interface WorktreeReader {
  text(path: string): Promise<string | null>;
  real(path: string): Promise<string | null>;
}

/** Returns a sentence if the repository does not know the worktree that names it, else null. */
export async function strangeWorktree(
  { project, worktree, gitDir }: Repository,
  reader: WorktreeReader,
): Promise<string | null> {
  const strange = `${worktree} names the repository of ${project}, which does not know it as a worktree; no checks count in it`;
  if (gitDir === null) return null;
  // A git directory in its place that shares another repository's objects is no worktree that git made.
  if (gitDir === worktree || gitDir === join(worktree, ".git"))
    return (await reader.text(join(gitDir, "commondir"))) === null ? null : strange;
  const back = await reader.text(join(gitDir, "gitdir"));
  const named = back === null ? null : resolve(gitDir, back.replace(/\n+$/, ""));
  if (named !== null && basename(named) === ".git" && (await reader.real(dirname(named))) === worktree)
    return null;
  // A submodule, or a git directory that was put elsewhere: a project of its own, whose file is in that directory.
  const isBare = /^\s*bare\s*=\s*true\s*$/im.test((await reader.text(join(gitDir, "config"))) ?? "");
  return named === null && project === gitDir && !isBare ? null : strange;
}
