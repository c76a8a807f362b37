/**
 * One try to merge a branch: in a worktree of its own, checked there, then the base moves.
 *
 * Invariants: nothing but the base's reference moves, and only forward, from the commit that the try began with; a base
 * that is checked out moves with its files, or not at all; the worktree of the try is gone afterwards, or the
 * person hears what is left of it; that is no reason to call a merge that moved the base anything but merged.
 */

import type { MergeReasonCode } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { checkoutsOf, obstacle } from "./base-checkout.ts";
import {
  commitOf,
  filesBetween,
  firstWords,
  type Git,
  GitFailed,
  type GitOptions,
  isAncestor,
  must,
  namesIn,
} from "./git.ts";
import { moveBase } from "./move-base.ts";
import { gitWithout, programsIn, refuseSigner, UntrustedProgram, untrustedOf } from "./programs.ts";
import { reasonFor, shortOf, type Tried, type Trying } from "./trial.ts";
import { removeTrial } from "./trial-folders.ts";

const change: GitOptions = { ms: limits.mergeGitMs };

/** Tries it, anew from the new base if that has moved meanwhile. Throws `GitFailed`, `Interrupted`. */
export async function attempt(trying: Trying): Promise<Tried> {
  for (let n = 1; n <= limits.mergeTriesMax; n += 1) {
    const tried = await tryOnce(trying);
    if (tried !== "moved") return tried;
  }
  const { base } = trying.merge;
  const text = `${shortOf(base)} moved ${limits.mergeTriesMax} times meanwhile; run it again when it is quiet`;
  return { is: "stopped", reason: reasonFor("base", text) };
}

async function tryOnce(trying: Trying): Promise<Tried | "moved"> {
  const { git, merge } = trying;
  const branch = shortOf(merge.branch);
  const base = await commitOf(git, merge.base);
  if (base === null) return stopped("base", `the branch ${shortOf(merge.base)} is gone; name another base`);
  // A run before this one ended between the move and its report.
  if (merge.commit !== null && (await isAncestor(git, merge.commit, base)))
    return { is: "merged", commit: merge.commit, already: true };
  const from = merge.checkOnly ? (trying.on ?? base) : base;
  const tip = await commitOf(git, merge.branch);
  if (tip === null) return returned("unmergeable", `there is no branch ${branch} any more`);
  if (await isAncestor(git, tip, base)) return { is: "merged", commit: base, already: true };
  if ((await git(["merge-base", from, tip])).code === 1)
    return returned("unmergeable", `${branch} and ${shortOf(merge.base)} have no common history`);
  try {
    return await inWorktree(trying, { base, from, tip });
  } catch (error) {
    if (!(error instanceof UntrustedProgram)) throw error;
    return stopped("failed", error.message);
  } finally {
    const left = await removeTrial(git, trying.folder);
    if (left !== null) trying.say(left);
  }
}

interface Commits {
  /** Where the base is. */
  readonly base: string;
  /** Where the try begins: the base, or the trial before. */
  readonly from: string;
  /** The end of the branch. */
  readonly tip: string;
}

async function inWorktree(around: Trying, commits: Commits): Promise<Tried | "moved"> {
  const { folder, merge, checks } = around;
  const { base, from, tip } = commits;
  const start = merge.rebase ? tip : from;
  // Its files come later: to write them may need programs of the repository's configuration, as it counts there.
  const bare = ["worktree", "add", "--quiet", "--no-checkout", "--detach", folder, start];
  await must(around.git, bare, change);
  const trying = await withoutUntrusted(around);
  const { git } = trying;
  await must(git, ["reset", "--quiet", "--hard"], { ...change, cwd: folder });
  const joined = await join(trying, commits);
  if (joined !== null) return joined;
  const commit = (await must(git, ["rev-parse", "HEAD"], { cwd: folder })).trim();
  // Nothing of the branch was missing there.
  if (commit === from)
    return from === base ? { is: "merged", commit, already: true } : { is: "checked", commit };
  const files = await filesBetween(git, from, commit);
  if (!merge.checkOnly) {
    // Found before the checks have run for minutes, and looked for again behind them.
    const why = await obstacle(trying, { base, commit, files });
    if (why !== null) return stopped("base", why);
  }
  const red = await checks(folder, files, git);
  if (red !== null) return returned("red_check", `${red.what} is red: ${red.how}`, [], red.output);
  if (merge.checkOnly) return { is: "checked", commit };
  const moved = await moveBase(trying, { base, commit, files });
  if (moved === "moved") return "moved";
  return moved === null ? { is: "merged", commit, already: false } : stopped("base", moved);
}

/** Returns the try with git that runs no program of the repository's configuration which a person did not trust. */
async function withoutUntrusted(trying: Trying): Promise<Trying> {
  const { git, folder, trusted } = trying;
  const checkouts = (await checkoutsOf(trying)).map(({ path }) => path);
  const untrusted = untrustedOf(await programsIn(git, [folder, ...checkouts]), trusted);
  await refuseSigner(git, untrusted);
  return { ...trying, git: gitWithout(git, untrusted, `${folder}.refused`) };
}

/** Merges or rebases in the worktree; returns what became of it if that did not work. */
async function join({ git, folder, merge }: Trying, { from, tip }: Commits): Promise<Tried | null> {
  const branch = shortOf(merge.branch);
  const message = `Merge branch '${branch}' into ${shortOf(merge.base)}`;
  const words = merge.rebase ? ["rebase", from] : ["merge", "--no-ff", "--no-edit", "-m", message, tip];
  const { code, out, said } = await git(words, { cwd: folder, ...change });
  if (code === 0) return null;
  // Git says 1 for conflicts alone.
  const files = code === 1 ? await unmergedIn(git, folder) : [];
  if (files.length === 0) {
    const why = firstWords(said) || firstWords(out) || `exit code ${code}`;
    throw new GitFailed(`git ${words[0]} of ${branch} failed: ${why}`);
  }
  const what = merge.rebase ? "cannot be rebased onto" : "conflicts with";
  return returned("conflict", `${branch} ${what} ${shortOf(merge.base)}`, files);
}

/** Returns the files that a merge left in conflict, each once. */
async function unmergedIn(git: Git, cwd: string): Promise<string[]> {
  const stages = namesIn(await must(git, ["ls-files", "--unmerged", "-z"], { cwd }));
  return [...new Set(stages.map(line => line.slice(line.indexOf("\t") + 1)))];
}

function returned(
  code: MergeReasonCode,
  text: string,
  files: readonly string[] = [],
  output: string | null = null,
): Tried {
  return { is: "returned", reason: reasonFor(code, text, files, output) };
}

function stopped(code: MergeReasonCode, text: string): Tried {
  return { is: "stopped", reason: reasonFor(code, text) };
}
