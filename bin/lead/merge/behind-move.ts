/** Looks behind the move of a base whether somebody switched a checkout at the same time, and takes the move back if so. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isCode } from "../../../hooks/install/file.ts";
import { limits } from "../../../protocol/limits.ts";
import { checkoutsOf, type Move } from "./base-checkout.ts";
import { commitOf, filesBetween, firstWords, type GitOptions, must, namesIn } from "./git.ts";
import { shortOf, type Trying } from "./trial.ts";

/** A try with git that no interrupt ends, and the words that its moves leave in reflogs. */
type Surely = Pick<Trying, "git" | "gitDir" | "merge" | "say"> & { readonly note: string };

/**
 * A checkout that began before the move writes the files of before, and names its branch only at its end. Waits for those
 * that are under way.
 */
export async function checkoutsSettled(gitDir: string): Promise<void> {
  const linked = await readdir(join(gitDir, "worktrees")).catch(none);
  const locks = [gitDir, ...linked.map(name => join(gitDir, "worktrees", name))].map(place =>
    join(place, "index.lock"),
  );
  const until = performance.now() + limits.mergeCheckoutMs;
  for (const lock of locks)
    while (performance.now() < until && (await isYoung(lock))) await delay(limits.mergeCheckoutPollMs);
}

function none(error: unknown): string[] {
  if (isCode(error, "ENOENT")) return [];
  throw error;
}

async function isYoung(lock: string): Promise<boolean> {
  try {
    return Date.now() - (await lstat(lock)).mtimeMs < limits.mergeStaleLockMs;
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return false;
    throw error;
  }
}

/**
 * Takes the move back if the base was checked out just before it, with the files of before: a commit there would undo the
 * merge. Returns null if it was not, `moved` if the base is back, else what is left to do.
 */
export async function takeBackStale(trying: Surely, move: Move): Promise<string | "moved" | null> {
  const { git, merge, note, say } = trying;
  const base = shortOf(merge.base);
  for (const { path } of await checkoutsOf(trying)) {
    const now = await commitOf(git, merge.base);
    if (now !== null && now !== move.commit) {
      const changed = new Set(await filesBetween(git, move.base, now));
      if (move.files.every(file => changed.has(file))) continue;
      return (
        `${base} was checked out in ${path} just before it moved, with the files of before, and the commit ` +
        `${now.slice(0, idChars)} there undoes the merge; look at it: git -C ${path} show ${now.slice(0, idChars)}`
      );
    }
    const staged = ["diff-index", "--cached", "--name-only", "--no-renames", "-z", move.commit];
    const stale = new Set(namesIn(await must(git, staged, { cwd: path })));
    if (!move.files.some(file => stale.has(file))) continue;
    const words = ["update-ref", "-m", `${note}: taken back`, merge.base, move.base, move.commit];
    if ((await git(words, change)).code !== 0) return takeBackStale(trying, move);
    say(
      `${base} was checked out in ${path} just before it moved, with the files of before; Kite has taken the move back and tries again`,
    );
    return "moved";
  }
  return null;
}

const idChars = 12;

/**
 * Takes back what git moved in a checkout that was switched away from the base just before. Returns null if git moved
 * nothing there, `moved` if it is back, else what is left to do.
 */
export async function takeBackOther(
  { git, merge, note, say }: Surely,
  { commit }: Move,
  cwd: string,
): Promise<string | "moved" | null> {
  const base = shortOf(merge.base);
  const last = ["reflog", "-1", "--format=%H %gs", "HEAD"];
  // Git's own words follow the note.
  if (!(await must(git, last, { cwd })).startsWith(`${commit} ${note}: `)) return null;
  const branch = (await git(["symbolic-ref", "--quiet", "HEAD"], { cwd })).out.trim();
  const what = branch === "" ? "its HEAD" : shortOf(branch);
  const old = (await commitOf(git, "HEAD@{1}", { cwd })) ?? "HEAD@{1}";
  // Refuses where work since then would be lost.
  const ran = await git(["reset", "--quiet", "--keep", old], { ...change, cwd });
  const isBack = ran.code === 0 && (await commitOf(git, "HEAD", { cwd })) === old;
  if (!isBack)
    return (
      `${cwd} was switched to ${what} just before ${base} moved there, and git moved ${what} instead, which could not be ` +
      `taken back (${firstWords(ran.said) || `exit code ${ran.code}`}); look at it, then: git -C ${cwd} reset --keep ${old}`
    );
  say(
    `${cwd} was switched to ${what} just before ${base} moved there, and git moved ${what} instead; Kite has taken that back`,
  );
  return "moved";
}

const change: GitOptions = { ms: limits.mergeGitMs };
