/** `kite risk` shows which files of live branches would conflict if they were merged today. */

import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import {
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { fail, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { clean, counted, cut, paint, type Screen, wrap } from "../view/text.ts";

// Runs git for `kite risk`: git only reads the repository, and writes objects to a separate folder.

/** A failure of git, as a sentence for a person. */
class GitFailed extends Error {
  override readonly name = "GitFailed";
}

/** The deadline of the whole command has passed. */
class NoTime extends GitFailed {}

interface Ran {
  readonly code: number;
  readonly out: string;
}

type Git = (args: readonly string[], cwd: string, more?: Readonly<Record<string, string>>) => Promise<Ran>;

/**
 * Runs git with the person's settings, but without variables that point it at another repository, and never a git in the
 * project. Stops git at `deadline` (of `performance.now()`, in ms). Throws `GitFailed` if git gave no exit code.
 */
function gitFor(env: Readonly<Record<string, string | undefined>>, deadline: number): Git {
  const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
  const PATH = searchPath(env["PATH"]);
  const base = {
    ...Object.fromEntries(own),
    PATH,
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
  };
  return (args, cwd, more = {}) => {
    const timeout = Math.floor(deadline - performance.now());
    const what = `git ${args[0]}`;
    if (timeout <= 0) return Promise.reject(new NoTime(`there was no time left for ${what}`));
    const options = { cwd, env: { ...base, ...more }, timeout, maxBuffer: limits.gitOutputBytes } as const;
    return new Promise((resolve, reject) => {
      execFile(
        "git",
        ["--no-pager", ...args],
        { ...options, killSignal: "SIGKILL" },
        (error, out, stderr) => {
          const code = error === null ? 0 : error.code;
          if (typeof code === "number") resolve({ code, out });
          else if (code === "ENOENT") reject(new GitFailed("git is not installed, or not in the PATH"));
          else if (error?.killed) reject(new GitFailed(`${what} took too long or wrote too much`));
          else reject(new GitFailed(`${what} failed: ${stderr.trim() || errorText(error)}`));
        },
      );
    });
  };
}

/** The first version of git that merges in memory. */
const needed = [2, 38] as const;

/** Throws `GitFailed` if git is too old. */
export async function checkVersion(git: Git, cwd: string): Promise<void> {
  const { out } = await git(["version"], cwd);
  const [, version = "", major, minor] = /(?<all>(\d+)\.(\d+)[.\d]*)/.exec(out) ?? [];
  const has = [Number(major), Number(minor)] as const;
  if (has[0] > needed[0] || (has[0] === needed[0] && has[1] >= needed[1])) return;
  const known = version === "" ? "its version is not known" : `this is ${version}`;
  throw new GitFailed(
    `a trial merge in memory needs git ${needed.join(".")} or newer, and ${known}; update git`,
  );
}

// Which files of a repository's branches would conflict if they were merged today.

/** A worktree with a commit. */
interface Branch {
  /** The branch's name; for a detached HEAD the folder's name with the commit. */
  readonly name: string;
  readonly worktree: string;
  readonly head: string;
}

interface Pair {
  readonly a: string;
  readonly b: string;
  /** Files that a merge of the two commits leaves in conflict; null if git could not tell. */
  readonly conflicts: readonly string[] | null;
  /** Why git could not tell. */
  readonly error?: string;
  /** Files that are uncommitted on both sides, which the trial merge does not see. */
  readonly uncommitted: readonly string[];
  /** Worktrees of the two whose uncommitted files git did not list in time. */
  readonly unseen?: readonly string[];
}

interface Trial {
  readonly pairs: readonly Pair[];
  /** Number of pairs not tried: there were too many, or no time was left. */
  readonly left: number;
}

/** Returns the worktrees around `cwd` that have a commit, the main one first. Throws `GitFailed`. */
async function branchesAt(git: Git, cwd: string): Promise<Branch[]> {
  const { code, out } = await git(["worktree", "list", "--porcelain", "-z"], cwd);
  if (code !== 0) throw new GitFailed("the working directory is in no git repository; run kite risk in one");
  const branches: Branch[] = [];
  for (const record of out.split("\0\0")) {
    const fields = new Map(record.split("\0").map(line => cutAt(line, " ")));
    const worktree = fields.get("worktree");
    const head = fields.get("HEAD");
    const isGone = fields.has("bare") || fields.has("prunable");
    if (worktree === undefined || head === undefined || isGone || /^0+$/.test(head)) continue;
    const ref = fields.get("branch")?.replace(/^refs\/heads\//, "");
    const name = ref ?? `${basename(worktree)}@${head.slice(0, 7)}`;
    branches.push({ name, worktree: await realpath(worktree).catch(() => worktree), head });
  }
  return branches;
}

/**
 * Merges every pair in memory. Git writes the merged trees to a temporary folder, so the repository, its index and its
 * working trees stay unchanged.
 */
async function tryAll(git: Git, branches: readonly Branch[]): Promise<Trial> {
  const all = branches.flatMap((a, i) => branches.slice(i + 1).map(b => [a, b] as const));
  const [first] = branches;
  if (all.length === 0 || first === undefined) return { pairs: [], left: 0 };
  const objects = await git(["rev-parse", "--path-format=absolute", "--git-path", "objects"], first.worktree);
  const own = await mkdtemp(join(tmpdir(), "kite-risk-"));
  try {
    const apart = {
      GIT_OBJECT_DIRECTORY: own,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects.out.replace(/\n$/, "")),
    };
    const tried: Tried[] = [];
    for (const [a, b] of all.slice(0, limits.riskPairsMax)) {
      const result = await tryOne(git, a, b, apart);
      if (result === null) break;
      tried.push({ a, b, ...result });
    }
    return { pairs: await withUncommitted(git, tried), left: all.length - tried.length };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

interface Tried extends Pick<Pair, "conflicts" | "error"> {
  readonly a: Branch;
  readonly b: Branch;
}

async function withUncommitted(git: Git, tried: readonly Tried[]): Promise<Pair[]> {
  const dirty = new Map<string, ReadonlySet<string> | null>();
  for (const { worktree } of tried.flatMap(({ a, b }) => [a, b])) {
    if (!dirty.has(worktree)) dirty.set(worktree, await uncommittedIn(git, worktree));
  }
  return tried.map(({ a, b, ...result }) => {
    const theirs = dirty.get(b.worktree);
    const uncommitted = [...(dirty.get(a.worktree) ?? [])].filter(file => theirs?.has(file)).sort();
    const unseen = [a.worktree, b.worktree].filter(worktree => dirty.get(worktree) === null);
    return { a: a.name, b: b.name, ...result, uncommitted, ...(unseen.length === 0 ? {} : { unseen }) };
  });
}

/** Returns null if no time is left. */
async function tryOne(
  git: Git,
  a: Branch,
  b: Branch,
  apart: Readonly<Record<string, string>>,
): Promise<Pick<Pair, "conflicts" | "error"> | null> {
  if (a.head === b.head) return { conflicts: [] };
  try {
    const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", a.head, b.head];
    const { code, out } = await git(args, a.worktree, apart);
    // Git prints the merged tree first, then the files in conflict.
    const [, ...files] = out.split("\0").filter(word => word !== "");
    if (code === 0 || code === 1) return { conflicts: files };
    return { conflicts: null, error: "they have no common history, or git cannot merge them" };
  } catch (error) {
    if (error instanceof NoTime) return null;
    if (!(error instanceof GitFailed)) throw error;
    return { conflicts: null, error: error.message };
  }
}

/** Returns the uncommitted files; null if git does not answer in time, since the trial does not need them. */
async function uncommittedIn(git: Git, worktree: string): Promise<ReadonlySet<string> | null> {
  try {
    const args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    const { code, out } = await git(args, worktree);
    return code === 0 ? new Set(out.split("\0").flatMap(line => (line === "" ? [] : [line.slice(3)]))) : null;
  } catch (error) {
    if (error instanceof GitFailed) return null;
    throw error;
  }
}

function cutAt(line: string, mark: string): [string, string] {
  const at = line.indexOf(mark);
  return at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

/** Quotes a path for a list of paths that git splits at colons. */
function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, character => `\\${character}`)}"`;
}

// The output of `kite risk`.

export interface TrialData extends Trial {
  readonly branches: readonly Branch[];
  /** The trial covers every worktree, not only those with live sessions. */
  readonly all: boolean;
}

/** Files named of one pair; the rest are counted. */
const filesMax = 20;

/** `kite risk`: the pairs that would conflict, file by file; the others are counted. */
export function trialView(data: TrialData, screen: Screen): string[] {
  const { branches, pairs, left, all } = data;
  if (branches.length < 2) return wrap(few(branches, all), screen.width);
  const of = all ? `${branches.length} worktrees` : `${branches.length} worktrees with live sessions`;
  const lines = wrap(`Trial merges of what is committed in ${of}:`, screen.width);
  const shown = pairs.filter(pair => pair.conflicts?.length !== 0 || pair.uncommitted.length > 0);
  for (const pair of shown) lines.push("", ...pairLines(pair, screen));
  const quiet = pairs.length - shown.length;
  const cleanly = quiet === 1 ? "1 pair merges cleanly." : `${quiet} pairs merge cleanly.`;
  if (quiet > 0) lines.push("", ...wrap(cleanly, screen.width));
  const unseen = new Set(pairs.flatMap(pair => pair.unseen ?? []));
  for (const worktree of unseen) {
    const what = `! Git did not list the uncommitted files of ${clean(worktree)} in time.`;
    lines.push("", ...wrap(what, screen.width, 2));
  }
  if (left > 0) lines.push("", ...wrap(`${counted(left, "pair")} more, not tried.`, screen.width));
  return lines;
}

function few(branches: readonly Branch[], all: boolean): string {
  const [one] = branches;
  const more = all ? "" : " kite risk --all tries every worktree.";
  const what = all ? "worktree with a commit" : "worktree with live sessions";
  if (one === undefined) return `No ${what} in this repository.${more}`;
  return `Only one ${what}: ${clean(one.name)}. Nothing to merge it with.${more}`;
}

function pairLines({ a, b, conflicts, error, uncommitted }: Pair, screen: Screen): string[] {
  const names = `${clean(a)} and ${clean(b)}`;
  const count = conflicts?.length ?? 0;
  const verdict =
    conflicts === null
      ? `not tried: ${clean(error ?? "")}`
      : count === 0
        ? "merge cleanly"
        : `conflict in ${counted(count, "file")}`;
  const lines = wrap(`${names} ${verdict}`, screen.width, 2).map(line => paint(screen, "bold", line));
  lines.push(...fileLines(conflicts ?? [], screen));
  if (uncommitted.length > 0) {
    lines.push(...wrap("Uncommitted on both sides, not tried:", screen.width - 2).map(line => `  ${line}`));
    lines.push(...fileLines(uncommitted, screen));
  }
  return lines;
}

function fileLines(files: readonly string[], screen: Screen): string[] {
  const lines = files.slice(0, filesMax).map(file => `    ${cut(clean(file), screen.width - 4, "start")}`);
  if (files.length > filesMax) lines.push(`    and ${files.length - filesMax} more`);
  return lines;
}

interface RiskFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

const help = `
Risk merges each pair of branches in memory, as they are committed now. It changes no repository, index or working tree.
The branches are those of the worktrees in which sessions work. Risk does not merge uncommitted work, but lists the files
that are uncommitted on both sides. It needs git 2.38 or newer.

--json: {"branches":[{"name", "worktree", "head"}], "pairs":[{"a", "b", "conflicts":[files] or null, "error"?,
"uncommitted":[files], "unseen"?:[worktrees where git could not say what is uncommitted]}], "left": number of pairs not tried}.

Exit codes: 0 done, with or without conflicts; 1 refused or failed; 3 no daemon runs to list the live sessions (--all
needs none).

Examples:
  $ kite risk
  $ kite risk --all`;

export function add(command: Command, run: Run): void {
  command
    .option("--all", "every worktree of the repository, not only those with live sessions")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RiskFlags) => run(world => risk(world, flags)));
}

/** Returns the exit code. */
export async function risk(world: ProcessContext, flags: RiskFlags): Promise<number> {
  const { cwd, env } = world;
  const json = flags.json === true;
  try {
    const git = gitFor(env, performance.now() + limits.riskMs);
    await checkVersion(git, cwd);
    const branches = await branchesAt(git, cwd);
    if (flags.all) return await show(world, flags, git, branches);
    return await withDaemon(world, json, async client => {
      const sessions = await rowsOf(client, "sessions");
      const live = new Set(sessions.filter(s => s.status !== "lost").map(s => s.worktree));
      return show(
        world,
        flags,
        git,
        branches.filter(branch => live.has(branch.worktree)),
      );
    });
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    return fail(world, json, "git_failed", error.message);
  }
}

async function show(
  world: ProcessContext,
  { all = false, json = false }: RiskFlags,
  git: Parameters<typeof tryAll>[0],
  branches: readonly Branch[],
): Promise<number> {
  const trial = await tryAll(git, branches);
  if (json) printJson(world, { branches, ...trial });
  else printFramed(world, trialView({ branches, all, ...trial }, screenOf(world)));
  return 0;
}
