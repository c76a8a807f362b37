/** What keeps a base that is checked out from moving: nobody's uncommitted work there is touched. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isCode } from "../../../hooks/install/file.ts";
import { plain } from "../../../protocol/text.ts";
import { listed } from "../../view/text.ts";
import { commitOf, filesBetween, must, namesIn } from "./git.ts";
import { shortOf, type Trying } from "./trial.ts";
import { rebasing, type Worktree, worktreesOf } from "./worktrees.ts";

/** A move of the base, with the files in which the two commits differ. */
export interface Move {
  readonly base: string;
  readonly commit: string;
  readonly files: readonly string[];
}

const namedMax = 5;

type Place = Pick<Trying, "git" | "gitDir" | "merge" | "keepers">;

/** Returns the worktrees in which the base is checked out. */
export async function checkoutsOf({ git, merge }: Pick<Trying, "git" | "merge">): Promise<Worktree[]> {
  return (await worktreesOf(git)).filter(({ branch }) => branch === merge.base);
}

/** Returns a sentence if the base must not move now, with what to do; else null. */
export async function obstacle(trying: Place, move: Move): Promise<string | null> {
  const { gitDir, merge } = trying;
  const base = shortOf(merge.base);
  if ((await rebasing(gitDir)).has(merge.base)) {
    return `a rebase of ${base} is in progress in a worktree; finish it, or abort it`;
  }
  const [checkout, another] = await checkoutsOf(trying);
  if (checkout === undefined) return null;
  if (another !== undefined) {
    return `${base} is checked out in ${checkout.path} and ${another.path}, and the files of one would be left behind; switch one of them to another branch`;
  }
  const amid = await unfinishedIn(trying, checkout.path);
  if (amid !== null)
    return `${base} is checked out in ${checkout.path}, where a ${amid} is in progress; finish it, or abort it`;
  const kept = await keptFiles(trying, checkout.path, move);
  if (kept.size === 0) return null;
  const shown = [...kept].slice(0, namedMax).map(([file, why]) => `${plain(file)} (${why})`);
  const files = listed(shown, kept.size - shown.length);
  return `${base} is checked out in ${checkout.path}, where the merge would change ${files}; commit or stash there, then run it again`;
}

/** Returns what git has begun in a worktree and not ended, and refuses to move the branch amid; null: nothing. */
async function unfinishedIn({ git }: Place, cwd: string): Promise<string | null> {
  for (const [head, what] of [
    ["MERGE_HEAD", "merge"],
    ["CHERRY_PICK_HEAD", "cherry-pick"],
  ] as const)
    if ((await commitOf(git, head, { cwd })) !== null) return what;
  return null;
}

/** Returns the files of the move that somebody keeps as they are, each with why. */
async function keptFiles(trying: Place, checkout: string, move: Move): Promise<ReadonlyMap<string, string>> {
  const { files } = move;
  const dirty = await uncommitted(trying, checkout, move);
  const keepers = await trying.keepers(files.map(file => join(checkout, file)));
  const kept = new Map<string, string>();
  for (const file of files) {
    const who = keepers.get(join(checkout, file));
    const why = dirty.get(file);
    if (who !== undefined) kept.set(file, who);
    else if (why !== undefined) kept.set(file, why);
  }
  return kept;
}

/** Returns which files git would overwrite or refuse to, each with why. */
async function uncommitted(
  { git }: Place,
  cwd: string,
  { base, commit, files }: Move,
): Promise<ReadonlyMap<string, string>> {
  const changed = new Map<string, string>();
  const wanted = new Set(files);
  const status = ["status", "--porcelain", "--no-renames", "--untracked-files=no", "-z"];
  for (const line of namesIn(await must(git, status, { cwd })))
    if (wanted.has(line.slice(3))) changed.set(line.slice(3), "uncommitted work");
  // Marked so, git takes a changed file for unchanged, and would overwrite it.
  for (const line of namesIn(await must(git, ["ls-files", "-v", "-z"], { cwd })))
    if (/^[a-z]/.test(line) && wanted.has(line.slice(2)))
      changed.set(line.slice(2), "assumed to be unchanged");
  for (const file of await filesBetween(git, base, commit, "A"))
    if (!changed.has(file) && (await exists(join(cwd, file))))
      changed.set(file, "not tracked, and in its place");
  return changed;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    // A name that is too long, or below a file, is for git to report.
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR") || isCode(error, "ENAMETOOLONG")) return false;
    throw error;
  }
}
