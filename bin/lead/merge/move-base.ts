/**
 * Moves the base forward: its reference by compare and swap, or with its files where it is checked out. Git offers no
 * move on the condition that nobody switches a checkout meanwhile. So a look after the move finds a switch, and takes
 * the move back.
 */

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isCode } from "../../../hooks/install/file.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import { listed } from "../../view/text.ts";
import {
  commitOf,
  filesBetween,
  firstWords,
  type Git,
  type GitOptions,
  must,
  namesIn,
  type Ran,
  rebasing,
  shortOf,
  type Trying,
  type Worktree,
  worktreesOf,
} from "./git.ts";

// What keeps a base that is checked out from moving: nobody's uncommitted work there is touched.

/** A move of the base, with the files in which the two commits differ. */
interface Move {
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

// Looks behind the move of a base whether somebody switched a checkout at the same time, and takes the move back if so.

/** A try with git that no interrupt ends, and the words that its moves leave in reflogs. */
type MoveContext = Pick<Trying, "git" | "gitDir" | "merge" | "say"> & { readonly note: string };

/**
 * A checkout that began before the move writes the files of before, and names its branch only at its end. Waits for those
 * that are under way.
 */
async function checkoutsSettled(gitDir: string): Promise<void> {
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
async function takeBackStale(trying: MoveContext, move: Move): Promise<string | "moved" | null> {
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
async function takeBackOther(
  { git, merge, note, say }: MoveContext,
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
      `taken back (${firstWords(ran.stderr) || `exit code ${ran.code}`}); look at it, then: git -C ${cwd} reset --keep ${old}`
    );
  say(
    `${cwd} was switched to ${what} just before ${base} moved there, and git moved ${what} instead; Kite has taken that back`,
  );
  return "moved";
}

const change: GitOptions = { ms: limits.mergeGitMs };

/**
 * What came of a move. Null: the base is at the commit. `moved`: it was elsewhere before, or it was taken back, so the try
 * begins anew. A sentence: what kept it back.
 */
type Moved = string | "moved" | null;

/** Moves the base. */
export async function moveBase(trying: Trying, move: Move): Promise<Moved> {
  const { git, merge } = trying;
  if ((await commitOf(git, merge.base)) !== move.base) return "moved";
  const why = await obstacle(trying, move);
  if (why !== null) return why;
  await trying.mayMove(move.commit);
  // From here on an interrupt waits: the base moves, and the queue hears of it.
  const sure: Git = (args, options) => git(args, { ...options, finishes: true });
  const surely = { ...trying, git: sure, note: `kite merge ${shortOf(merge.branch)}` };
  const [checkout] = await checkoutsOf(surely);
  return checkout === undefined ? moveAlone(surely, move) : moveWithFiles(surely, move, checkout);
}

type NotedTrying = Trying & { readonly note: string };

/** Moves a base that is checked out nowhere. */
async function moveAlone(trying: NotedTrying, move: Move): Promise<Moved> {
  const { git, gitDir, merge, note } = trying;
  const words = ["update-ref", "-m", note, merge.base, move.commit, move.base];
  const ran = await git(words, { ms: limits.mergeGitMs });
  if (ran.code === 0) {
    await checkoutsSettled(gitDir);
    const back = await takeBackStale(trying, move);
    if (back !== null) return back;
  }
  return outcome(trying, move, ran);
}

/** Moves a base with the files of the worktree in which it is checked out. */
async function moveWithFiles(trying: NotedTrying, move: Move, { path }: Worktree): Promise<Moved> {
  const { git, note } = trying;
  // Git itself refuses to overwrite what came meanwhile, ignored files too. The words come after those of the setting
  // branch.NAME.mergeOptions: with its --squash the files would move, and the branch would not.
  const forward = ["--ff-only", "--no-squash", "--no-autostash", "--no-overwrite-ignore", "--quiet"];
  const ran = await git(["merge", ...forward, move.commit], {
    cwd: path,
    ms: limits.mergeGitMs,
    action: note,
  });
  const isStill = (await checkoutsOf(trying)).some(one => one.path === path);
  if (isStill) return outcome(trying, move, ran);
  const back = await takeBackOther(trying, move, path);
  // Without the files of a checkout, the next try moves the base alone.
  return back ?? "moved";
}

async function outcome({ git, merge }: NotedTrying, move: Move, { code, stderr }: Ran): Promise<Moved> {
  const now = await commitOf(git, merge.base);
  if (now === move.commit) return null;
  if (now !== move.base) return "moved";
  return `git could not move ${shortOf(merge.base)}: ${firstWords(stderr) || `exit code ${code}`}`;
}
