/**
 * One try to merge a branch: in a worktree of its own, checked there, then the base moves.
 *
 * Invariants: nothing but the base's reference moves, and only forward, from the commit that the try began with. A base
 * that is checked out moves with its files, or not at all. The worktree of the try is gone afterwards, or the person
 * hears what is left of it. A merge that moved the base is called merged even then.
 */

import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { LocalError } from "../../../client/errors.ts";
import { concerning } from "../../../daemon/lead/checks.ts";
import { isCode } from "../../../hooks/install/file.ts";
import type { MergeReasonCode } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { plain } from "../../../protocol/text.ts";
import type { Client, ProcessContext } from "../../context/process-context.ts";
import type { FindRepository } from "../../context/project.ts";
import { rowsOf } from "../../context/with-daemon.ts";
import { listed } from "../../view/text.ts";
import { type Ran, startCheck, withNested } from "../check-run.ts";
import { checksAt, type NamedChecks } from "../check-trust.ts";
import {
  commitOf,
  filesBetween,
  firstWords,
  type Git,
  GitFailed,
  type GitOptions,
  gitWithout,
  Interrupted,
  isAncestor,
  isSystems,
  must,
  namesIn,
  programsIn,
  type Red,
  reasonFor,
  refuseSigner,
  shortOf,
  type Tried,
  type Trying,
  UntrustedProgram,
  untrustedOf,
  withoutGit,
} from "./git.ts";
import { checkoutsOf, moveBase, obstacle } from "./move-base.ts";

// The worktrees in which merges are tried: one folder each, below Kite's own directory.

/** A worktree with all that the checks put into it may take long to remove. */
const finishes: GitOptions = { finishes: true, ms: limits.mergeGitMs };

/** Returns the folder of one run of a merge, which no other run has. */
export function trialFolder(
  { merges }: KitePaths,
  { id, runs }: { readonly id: string; readonly runs: number },
): string {
  return join(merges, `${id}.${runs}`);
}

/**
 * Removes a worktree and what git notes of it, also if only one of both is there. Goes on after an interrupt. Returns null,
 * or a sentence if something is left: that changes nothing about a merge, and the next one tries again.
 */
export async function removeTrial(git: Git, folder: string): Promise<string | null> {
  try {
    if (await forget(git, folder)) return null;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await forget(git, folder);
    return null;
  } catch (error) {
    if (!isSystems(error)) throw error;
    return `could not remove ${folder}: ${error.message}; the next merge tries again, or remove it yourself`;
  }
}

/** Has git remove the worktree; returns whether it did. */
async function forget(git: Git, folder: string): Promise<boolean> {
  try {
    // Twice by force: a worktree that was being made when its maker was killed is locked.
    return (await git(["worktree", "remove", "--force", "--force", folder], finishes)).code === 0;
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    return false;
  }
}

/** Makes the folder of all trials, and removes what runners that are gone left in it; `say` hears what stays. */
export async function sweepTrials(
  client: Client,
  paths: KitePaths,
  git: Git,
  say: (text: string) => void,
): Promise<void> {
  await mkdir(paths.merges, { recursive: true, mode: 0o700 });
  const names = await readdir(paths.merges);
  if (names.length === 0) return;
  const rows = await rowsOf(client, "merges");
  const running = new Set(
    rows.filter(({ state }) => state === "running").map(({ id, runs }) => `${id}.${runs}`),
  );
  for (const name of names) {
    if (running.has(name)) continue;
    const folder = join(paths.merges, name);
    const left = await removeTrial(await repositoryOf(git, folder), folder);
    if (left !== null) say(left);
  }
}

/** Returns git for the repository of a trial, which may be another one; without one, the given git. */
async function repositoryOf(git: Git, folder: string): Promise<Git> {
  try {
    const found = (
      await must(git, ["rev-parse", "--path-format=absolute", "--git-common-dir"], { cwd: folder })
    ).trim();
    return (args, options = {}) => git(args, { cwd: found, ...options });
  } catch (error) {
    if (error instanceof Error && !isCode(error, "ENOENT")) return git;
    throw error;
  }
}

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
  const joined = await joinBranch(trying, commits);
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
async function joinBranch({ git, folder, merge }: Trying, { from, tip }: Commits): Promise<Tried | null> {
  const branch = shortOf(merge.branch);
  const message = `Merge branch '${branch}' into ${shortOf(merge.base)}`;
  const words = merge.rebase ? ["rebase", from] : ["merge", "--no-ff", "--no-edit", "-m", message, tip];
  const { code, out, stderr } = await git(words, { cwd: folder, ...change });
  if (code === 0) return null;
  // Git says 1 for conflicts alone.
  const files = code === 1 ? await unmergedIn(git, folder) : [];
  if (files.length === 0) {
    const why = firstWords(stderr) || firstWords(out) || `exit code ${code}`;
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

// Runs the project's trusted checks on a merge, in the worktree of the try.

/** The checks were changed after the command began. */
class Untrusted extends LocalError {
  override readonly name = "Untrusted";
}

const namedMax = 3;

interface Checking {
  readonly world: Pick<ProcessContext, "env" | "paths">;
  readonly git: Git;
  readonly stop: AbortSignal;
  /** Tells that a check begins. */
  readonly say: (text: string) => void;
  readonly find?: FindRepository | undefined;
}

/**
 * Runs the checks that matter after a change of these files, one after the other, up to the first red one. Before them
 * the project's setup runs, once: a fresh worktree has none of the files that git ignores, such as dependencies. One that
 * changes tracked files, commits or removes the worktree is red: what it looked at is not what would be merged. Throws a
 * `LocalError`.
 */
export async function runChecks(
  { world, git, stop, say, find }: Checking,
  worktree: string,
  files: readonly string[],
): Promise<Red | null> {
  const named = await checksAt(world, worktree, find);
  const why = untrusted(named);
  if (why !== null) throw new Untrusted(why);
  const wanted = await concerning(named.checks, files);
  const head = await commitOf(git, "HEAD", { cwd: worktree });
  const lines = wanted.map(({ name, command }, n) => {
    const as = `check ${name} (${n + 1} of ${wanted.length})`;
    return { name, command, what: `the check ${name}`, as };
  });
  const { setup } = named;
  if (setup !== null && lines.length > 0)
    lines.unshift({ name: "setup", command: setup, what: "the setup", as: "setup" });
  for (const { name, command, what, as } of lines) {
    say(as);
    const running = startCheck({
      command,
      cwd: worktree,
      env: withNested(withoutGit(world.env), named.repository.project, name),
      timeoutMs: limits.checkMs,
      streams: false,
    });
    const end = () => running.end("SIGTERM");
    stop.addEventListener("abort", end, { once: true });
    if (stop.aborted) end();
    const ran = await running.done;
    stop.removeEventListener("abort", end);
    if (stop.aborted) throw new Interrupted("interrupted");
    const red = redOf(what, ran) ?? (await changedBy(git, { worktree, head }, what, ran));
    if (red !== null) return red;
  }
  return null;
}

/** Returns why the project's checks may not run, or null; also null if there are none. */
export function untrusted({ trust, repository }: NamedChecks): string | null {
  if (trust === "trusted" || trust === "none") return null;
  const why = trust === "changed" ? "have changed since a person trusted them" : "are not trusted yet";
  return `the checks of ${repository.project} ${why}; read and trust them first: kite check --trust`;
}

function redOf(what: string, { exit, timedOut, output }: Ran): Red | null {
  if (exit === 0) return null;
  return { what, how: timedOut ? "killed at the time limit" : `exit code ${exit}`, output };
}

async function changedBy(
  git: Git,
  { worktree, head }: { readonly worktree: string; readonly head: string | null },
  what: string,
  { output }: Ran,
): Promise<Red | null> {
  const red = (how: string): Red => ({ what, how, output });
  if (!existsSync(worktree)) return red("it removed the worktree that it ran in");
  if ((await commitOf(git, "HEAD", { cwd: worktree })) !== head) return red("it committed, or moved HEAD");
  const status = ["status", "--porcelain", "--no-renames", "--untracked-files=no", "-z"];
  const changed = namesIn(await must(git, status, { cwd: worktree })).map(line => plain(line.slice(3)));
  if (changed.length === 0) return null;
  return red(`it changed tracked files (${listed(changed.slice(0, namedMax), changed.length - namedMax)})`);
}
