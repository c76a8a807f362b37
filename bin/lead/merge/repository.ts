/** The repository that `kite merge` works in, and its base. */
import { realpath } from "node:fs/promises";
import type { ProcessContext } from "../../process-context.ts";
import { type FindRepository, findRepository } from "../../project.ts";
import { ProjectUnknown } from "../../project-unknown.ts";
import { branchExists, commitOf, type Git, GitFailed, gitOf, must } from "./git.ts";
import { type Worktree, worktreesOf } from "./worktrees.ts";

export interface MergeRepository {
  /** The name of the project on the wire. */
  readonly project: string;
  /** The git directory that all worktrees share. */
  readonly gitDir: string;
  readonly git: Git;
  readonly worktrees: readonly Worktree[];
  /** The full name of the base. */
  readonly base: string;
}

/** Returns the repository around the working directory. Throws `GitFailed` or `ProjectUnknown`. */
export async function repositoryFor(
  { cwd, env }: Pick<ProcessContext, "cwd" | "env">,
  into: string | undefined,
  stop: AbortSignal,
  find: FindRepository = findRepository,
): Promise<MergeRepository> {
  const found = await find(cwd);
  if ("unreachable" in found)
    throw new ProjectUnknown(`could not read ${cwd}: ${found.unreachable}; try again`);
  if (found.gitDir === null) {
    throw new GitFailed(`${cwd} is in no git repository; run kite merge in the project's`);
  }
  const near = gitOf(env, found.gitDir, stop);
  const common = await must(near, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const gitDir = await realpath(common.replace(/\n$/, ""));
  const git = gitOf(env, gitDir, stop);
  const base = await baseOf(git, into);
  return { project: found.project, gitDir, git, worktrees: await worktreesOf(git), base };
}

/** Returns the named base, or the branch of the main worktree; it has a commit. Throws `GitFailed`. */
async function baseOf(git: Git, into: string | undefined): Promise<string> {
  if (into !== undefined) {
    const name = into.startsWith("refs/heads/") ? into : `refs/heads/${into}`;
    if (await branchExists(git, name)) return name;
    throw new GitFailed(`there is no branch ${into} to merge into; name one: --into main`);
  }
  const { code, out } = await git(["symbolic-ref", "--quiet", "HEAD"]);
  const head = out.trim();
  if (code !== 0 || !head.startsWith("refs/heads/"))
    throw new GitFailed("the main worktree is on no branch; name the base: --into main");
  if ((await commitOf(git, head)) !== null) return head;
  const branch = head.slice("refs/heads/".length);
  const error = `the base ${branch} has no commit yet; commit to it first, or name another base: --into BRANCH`;
  throw new GitFailed(error);
}
