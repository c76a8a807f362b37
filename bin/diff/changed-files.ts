/** Which files of a worktree differ from its commit. Git's plumbing lists them: no filter, no monitor and no hook runs. */
import type { Commits } from "../rescue/committed.ts";

const lists: readonly (readonly string[])[] = [
  ["diff-files", "--name-only", "-z", "--ignore-submodules=all"],
  ["ls-files", "--others", "--exclude-standard", "-z"],
];

/** Returns the paths from the top, in order; a file of the list may have the content of its commit. Null: git cannot tell. */
export async function changedFiles(
  commits: Commits,
  worktree: string,
  head: string | null,
): Promise<readonly string[] | null> {
  const staged =
    head === null
      ? ["ls-files", "--cached", "-z"]
      : ["diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", head];
  const found = await Promise.all([staged, ...lists].map(words => commits.read(worktree, words)));
  const names = new Set<string>();
  for (const out of found) {
    if (out === null) return null;
    for (const name of out.toString().split("\0")) if (name !== "") names.add(name);
  }
  return [...names].sort();
}
