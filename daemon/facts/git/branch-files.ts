/** The files that a branch changed against its base, by git's commits. */
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { Allowance } from "../work-clock.ts";
import { type CommitDiff, commitDiff } from "./commit-diff.ts";
import { type GitChild, type GitPlace, unreachable } from "./process.ts";

/** A file with the id of its content; null: the branch removed it. */
export type ChangedFile = readonly [path: string, blob: string | null];

/** What a branch goes into, the first that there is: the one that the remote calls its own, else by the names of most. */
const bases = [
  "refs/remotes/origin/HEAD",
  "refs/remotes/origin/main",
  "refs/remotes/origin/master",
  "refs/heads/main",
  "refs/heads/master",
];

/**
 * Returns the files that the commits of HEAD changed since it left its base, in git's order: at most `limits.branchFilesMax` of
 * `limits.branchFilesChars`. None: there is no base, or no commit. Work that is not committed has no id in git, and is not there.
 */
export async function branchFiles(
  outside: Pick<BudgetedFs, "clock">,
  git: GitChild,
  place: GitPlace,
): Promise<readonly ChangedFile[] | Unreachable> {
  const allowance = new Allowance(outside.clock, limits.stateMs, limits.stateTimeMs);
  const at = [`--git-dir=${place.gitDir}`, `--work-tree=${place.worktree}`];
  const run = (...args: readonly string[]) => git.run([...at, ...args], place.worktree, allowance);
  const refs = await run("for-each-ref", "--format=%(refname)", ...bases);
  if (refs.code !== 0) return unreachable(refs.said);
  const known = new Set(refs.out.split("\n"));
  const base = bases.find(ref => known.has(ref));
  if (base === undefined) return [];
  const head = await run("rev-parse", "--verify", "--quiet", "HEAD^{commit}");
  if (head.code === null) return unreachable(head.said);
  const commit = head.out.trim();
  if (head.code !== 0) return [];
  const parting = await run("merge-base", commit, base);
  if (parting.code === null) return unreachable(parting.said);
  if (parting.code !== 0) return [];
  const diff = await commitDiff(outside, git, place, [parting.out.trim(), commit]);
  if ("unreachable" in diff) return diff;
  return firstFiles(changedIn(diff));
}

function* changedIn(diff: CommitDiff): Generator<ChangedFile> {
  for (const [path, [, now]] of diff) yield [path, /[0-9a-f]{40,64}$/.exec(now)?.[0] ?? null];
}

/** Returns the first of these files: at most `limits.branchFilesMax` of `limits.branchFilesChars`. */
export function firstFiles(files: Iterable<ChangedFile>): readonly ChangedFile[] {
  const found: ChangedFile[] = [];
  let chars = 2;
  for (const file of files) {
    chars += JSON.stringify(file).length + 1;
    if (found.length === limits.branchFilesMax || chars > limits.branchFilesChars) break;
    found.push(file);
  }
  return found;
}
