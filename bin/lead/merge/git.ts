/** Runs git for `kite merge`, in process groups of their own: a terminal's Ctrl-C never ends git amid a change. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { LocalError } from "../../../client/errors.ts";
import { isCode } from "../../../hooks/install/file.ts";
import { errorText } from "../../../protocol/errors.ts";
import type { MergeReason, MergeReasonCode, MergeRow } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { searchPath } from "../../../protocol/paths.ts";
import { plain } from "../../../protocol/text.ts";
import type { ProcessContext } from "../../context/process-context.ts";
import { signalCode } from "../../context/programs.ts";
import { type FindRepository, findRepository, ProjectUnknown } from "../../context/project.ts";
import { signalGroup } from "../check-run.ts";

/** A failure of git, or of what it needs, as a sentence for a person. */
export class GitFailed extends LocalError {
  override readonly name = "GitFailed";
}

/** The person, or the system, ends the command. */
export class Interrupted extends LocalError {
  override readonly name = "Interrupted";
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  /** Standard error. */
  readonly stderr: string;
}

export interface GitOptions {
  readonly cwd?: string;
  /** Elapsed time before git is ended, in milliseconds; `limits.mergeReadMs`. */
  readonly ms?: number;
  /** Whether it also begins, and goes on, after the command was interrupted: for what must not stop halfway. */
  readonly finishes?: boolean;
  /** What git notes in reflogs as the reason of a move, instead of its own words; it then keeps reflogs. */
  readonly action?: string;
  /** The file in which the lines that replace untrusted programs say that git needed one (`programs.ts`). */
  readonly refusals?: string;
}

/** Returns what git said. Throws `GitFailed` if git gave no exit code in time, and `Interrupted`. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<Ran>;

/**
 * Settings that hold for every git command. No hook runs: nobody trusted one for this, and the checks decide. What a
 * person set for their own commands and reaches further than the merge is off.
 */
const settings = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.quotePath", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["submodule.recurse", "false"],
  ["merge.autoStash", "false"],
  ["rebase.autoStash", "false"],
  ["rebase.autoSquash", "false"],
  ["rebase.updateRefs", "false"],
  // A conflict that git resolves from its memory nobody has looked at here; nor does a try add to that memory.
  ["rerere.enabled", "false"],
  ["merge.ff", "true"],
  ["log.showSignature", "false"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns git for the repository of `gitDir`, with the person's settings and identity. It drops variables that point
 * git elsewhere, and never takes a git in the project.
 */
export function gitOf(env: Env, gitDir: string, stop: AbortSignal): Git {
  const quiet = {
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "true",
    GIT_MERGE_AUTOEDIT: "no",
  };
  const own = { ...withoutGit(env), PATH: searchPath(env["PATH"]), ...quiet };
  return (args, { cwd, ms = limits.mergeReadMs, finishes = false, action, refusals } = {}) => {
    if (stop.aborted && !finishes) return Promise.reject(new Interrupted("interrupted"));
    const where = cwd === undefined ? ["--git-dir", gitDir] : [];
    const logs = action === undefined ? [] : ["-c", "core.logAllRefUpdates=true"];
    const words = ["--no-pager", ...settings, ...logs, ...where, ...args];
    const child = spawn("git", words, {
      cwd: cwd ?? gitDir,
      env: {
        ...own,
        ...(action === undefined ? {} : { GIT_REFLOG_ACTION: action }),
        ...(refusals === undefined ? {} : { KITE_REFUSED: refusals }),
      },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return ended(child, `git ${commandIn(args)}`, ms, finishes ? null : stop);
  };
}

/** Returns an environment without variables that point git elsewhere; the person's identity stays. */
export function withoutGit(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^GIT_(?!(?:AUTHOR|COMMITTER)_)/.test(name)),
  );
}

function ended(child: ChildProcess, what: string, ms: number, stop: AbortSignal | null): Promise<Ran> {
  const out = new Text();
  const stderr = new Text();
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
  let why: "late" | "stopped" | null = null;
  const timers: NodeJS.Timeout[] = [];
  const end = (reason: "late" | "stopped") => {
    why ??= reason;
    // Asked first: git then removes its lock files.
    signalGroup(child, "SIGTERM");
    timers.push(setTimeout(() => signalGroup(child, "SIGKILL"), limits.mergeGraceMs));
  };
  const interrupt = () => end("stopped");
  timers.push(setTimeout(() => end("late"), ms));
  stop?.addEventListener("abort", interrupt, { once: true });
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      for (const timer of timers) clearTimeout(timer);
      stop?.removeEventListener("abort", interrupt);
      act();
    };
    child.once("error", error => {
      const isAbsent = "code" in error && error.code === "ENOENT";
      const text = isAbsent
        ? `${what}: git is not in the PATH, or its directory is gone`
        : `${what}: ${errorText(error)}`;
      settle(() => reject(new GitFailed(text)));
    });
    child.once("close", (code, by) =>
      settle(() => {
        if (why === "stopped") reject(new Interrupted("interrupted"));
        else if (why === "late")
          reject(new GitFailed(`${what} took longer than ${ms / 1000} s and was ended`));
        else if (out.isOver) reject(new GitFailed(`${what} printed more than ${limits.mergeGitBytes} bytes`));
        else resolve({ code: code ?? signalCode(by), out: out.text, stderr: stderr.text });
      }),
    );
  });
}

/** Output up to `limits.mergeGitBytes`. */
class Text {
  readonly #chunks: Buffer[] = [];
  #size = 0;
  isOver = false;

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    this.isOver ||= this.#size > limits.mergeGitBytes;
    if (!this.isOver) this.#chunks.push(chunk);
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}

/** Returns the output of a command that has to succeed. Throws `GitFailed` with git's own words. */
export async function must(git: Git, args: readonly string[], options?: GitOptions): Promise<string> {
  const { code, out, stderr } = await git(args, options);
  if (code === 0) return out;
  throw new GitFailed(`git ${commandIn(args)} failed: ${firstWords(stderr) || `exit code ${code}`}`);
}

/** Returns the command behind settings. */
function commandIn(args: readonly string[]): string {
  return args.find((word, n) => word !== "-c" && args[n - 1] !== "-c") ?? "";
}

/** Returns the id of a commit that a branch's full name or an id names, or null. */
export async function commitOf(git: Git, name: string, options?: GitOptions): Promise<string | null> {
  const words = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { code, out } = await git(words, options);
  return code === 0 ? out.trim() : null;
}

/** Whether there is a local branch of this full name. An expression such as `refs/heads/main~1` names a commit, no branch. */
export async function branchExists(git: Git, name: string): Promise<boolean> {
  const { code } = await git(["show-ref", "--verify", "--quiet", name]);
  return code === 0 && (await commitOf(git, name)) !== null;
}

/** Whether `first` is in the history of `second`; both are ids. False also if `first` is not there. */
export async function isAncestor(git: Git, first: string, second: string): Promise<boolean> {
  return (await git(["merge-base", "--is-ancestor", first, second])).code === 0;
}

/** Returns the files in which two commits differ; `filter` as of git diff. No setting of a person's changes the list. */
export async function filesBetween(git: Git, from: string, to: string, filter = ""): Promise<string[]> {
  const only = filter === "" ? [] : [`--diff-filter=${filter}`];
  return namesIn(
    await must(git, ["diff-tree", "-r", "--name-only", "--no-renames", ...only, "-z", from, to]),
  );
}

/** Returns the names in a list that git ended with NUL. */
export function namesIn(out: string): string[] {
  return out.split("\0").filter(name => name !== "");
}

/** Returns the beginning of what git said, on one line. */
export function firstWords(text: string): string {
  const lines = text.split("\n").filter(line => !/^(?:hint|warning):/.test(line) && line.trim() !== "");
  return lines.join(" ").slice(0, limits.quoteChars);
}

// Programs that the repository's own git configuration names. Any agent could have written it, so none of them runs in
// a merge unless a person trusted it. What a person's own configuration names (global, system) runs as always.
//
// A line that fails and says so replaces a program that is not trusted. Kite never leaves the program out: a merge with
// a filter switched off would commit other contents.

/** By the name of its setting, such as `filter.lfs.smudge`: the program's line. */
export type Programs = ReadonlyMap<string, string>;

/** A merge needs a program that nobody trusted. */
export class UntrustedProgram extends LocalError {
  override readonly name = "UntrustedProgram";
}

const isProgram =
  /^(?:filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|gpg\.(?:\w+\.)?program|gpg\.ssh\.defaultkeycommand)$/s;

/** Returns the programs of the repository's own configuration, as it counts in these folders. */
export async function programsIn(git: Git, folders: readonly string[]): Promise<Programs> {
  const found = new Map<string, string>();
  for (const cwd of [null, ...folders]) {
    const at = cwd === null ? {} : { cwd };
    const listed = namesIn(await must(git, ["config", "--list", "--show-scope", "-z"], at));
    for (let n = 0; n + 1 < listed.length; n += 2) {
      const [scope, entry = ""] = listed.slice(n, n + 2);
      const end = entry.indexOf("\n");
      const key = end === -1 ? entry : entry.slice(0, end);
      if ((scope === "local" || scope === "worktree") && isProgram.test(key))
        found.set(key, end === -1 ? "" : entry.slice(end + 1));
    }
  }
  return found;
}

/** Returns those that a person did not trust as they are. */
export function untrustedOf(programs: Programs, trusted: Programs): Programs {
  return new Map([...programs].filter(([key, line]) => trusted.get(key) !== line));
}

/**
 * Returns git that runs none of these programs. A command that needs one throws `UntrustedProgram`. `note` is a file beside
 * which nobody works: the replacing lines write there which program was needed.
 */
export function gitWithout(git: Git, untrusted: Programs, note: string): Git {
  const all = [...untrusted];
  if (all.length === 0) return git;
  const odd = all.find(([key]) => key.includes("="));
  if (odd !== undefined) throw refused(odd);
  const overrides = all.flatMap(([key], n) => overridesOf(key, n));
  return async (args, options) => {
    rmSync(note, { force: true });
    const ran = await git([...overrides, ...args], { ...options, refusals: note });
    if (!existsSync(note)) return ran;
    const first = all[Number.parseInt(readFileSync(note, "utf8"), 10)];
    rmSync(note, { force: true });
    throw refused(first ?? ["a program", ""]);
  };
}

/** Throws `UntrustedProgram` if a commit would be signed by one of them: git starts that one without a shell. */
export async function refuseSigner(git: Git, untrusted: Programs): Promise<void> {
  const signer = [...untrusted].find(([key]) => key.startsWith("gpg."));
  if (signer === undefined) return;
  const { code, out } = await git(["config", "--type=bool", "--get", "commit.gpgSign"]);
  if (code === 0 && out.trim() === "true") throw refused(signer);
}

function overridesOf(key: string, n: number): string[] {
  // A program for signatures is no shell line: none has this name, so git fails.
  if (key.startsWith("gpg.")) return ["-c", `${key}=/nonexistent/untrusted`];
  const line = ["-c", `${key}=echo ${n} >> "$KITE_REFUSED"; exit 1`];
  const [filter] = /^filter\..+(?=\.)/s.exec(key) ?? [];
  return filter === undefined ? line : [...line, "-c", `${filter}.required=true`];
}

function refused([key, line]: readonly [string, string]): UntrustedProgram {
  return new UntrustedProgram(
    `the merge needs ${plain(key, limits.quoteChars)} of the repository's own git configuration (${plain(line, limits.quoteChars)}), ` +
      "which no person has trusted; read and trust it: kite check --trust",
  );
}

// The worktrees of a repository, and where a branch is in use.

export interface Worktree {
  /** Its real path. */
  readonly path: string;
  /** The full name of its branch; null: it has none, or is the bare repository. */
  readonly branch: string | null;
}

/** Returns the worktrees that exist, the main one first. */
export async function worktreesOf(git: Git): Promise<Worktree[]> {
  const out = await must(git, ["worktree", "list", "--porcelain", "-z"]);
  const found: Worktree[] = [];
  for (const record of out.split("\0\0")) {
    const fields = new Map(record.split("\0").map(line => fieldIn(line)));
    const path = fields.get("worktree");
    if (path === undefined || fields.has("prunable") || fields.has("bare")) continue;
    found.push({ path: await realpath(path).catch(() => path), branch: fields.get("branch") ?? null });
  }
  return found;
}

function fieldIn(line: string): [string, string] {
  const at = line.indexOf(" ");
  return at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

/** Returns the branches that a rebase in progress will move, in any worktree: their HEAD does not name them. */
export async function rebasing(gitDir: string): Promise<ReadonlySet<string>> {
  const linked = (await unlessAbsent(readdir(join(gitDir, "worktrees")))) ?? [];
  const places = [gitDir, ...linked.map(name => join(gitDir, "worktrees", name))];
  const branches = new Set<string>();
  for (const place of places) {
    for (const folder of ["rebase-merge", "rebase-apply"]) {
      const name = await unlessAbsent(readFile(join(place, folder, "head-name"), "utf8"));
      if (name !== null) branches.add(name.trim());
    }
  }
  return branches;
}

async function unlessAbsent<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
    throw error;
  }
}

// The repository that `kite merge` works in, and its base.

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

// What a try to merge a branch needs, and what becomes of it.

/** What became of a try. */
export type Tried =
  | { readonly is: "merged"; readonly commit: string; readonly already: boolean }
  | { readonly is: "checked"; readonly commit: string }
  | { readonly is: "returned"; readonly reason: MergeReason }
  /** The base, git or the disk keeps it from going on: not the author's affair. */
  | { readonly is: "stopped"; readonly reason: MergeReason };

/** A check that was red, or a setup that failed. */
export interface Red {
  /** What was red: `the check test`, `the setup`. */
  readonly what: string;
  /** `exit code 1`, `killed at the time limit`, `changed a.ts`. */
  readonly how: string;
  readonly output: string;
}

export interface Trying {
  readonly git: Git;
  readonly gitDir: string;
  /** Where the worktree of the try is made. */
  readonly folder: string;
  readonly merge: Pick<MergeRow, "base" | "branch" | "rebase" | "checkOnly" | "commit">;
  /** The commit of the trial before in the same command; null: the base's own. Only for `checkOnly`. */
  readonly on: string | null;
  /** Runs the checks that matter after a change of these files; null: all are green. */
  readonly checks: (worktree: string, files: readonly string[], git: Git) => Promise<Red | null>;
  /** The programs of the repository's own git configuration that a person trusted. */
  readonly trusted: Programs;
  /** Who keeps a path of the base's checkout as it is: `alice has uncommitted work in it`. */
  readonly keepers: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Asks for the right to move the base to this commit. Throws if it is gone. */
  readonly mayMove: (commit: string) => Promise<void>;
  /** Tells a person what changes nothing about the merge. */
  readonly say: (text: string) => void;
}

/** Returns a reason within its bounds. */
export function reasonFor(
  code: MergeReasonCode,
  text: string,
  files: readonly string[] = [],
  output: string | null = null,
): MergeReason {
  const shown = files.slice(0, limits.mergeFilesMax).map(file => plain(file, limits.quoteChars));
  const end = output === null ? null : plain(output.slice(-limits.mergeOutputChars), limits.mergeOutputChars);
  const more = files.length - shown.length;
  return { code, text: plain(text, limits.mergeReasonChars), files: shown, more, output: end };
}

/** Returns `main` for `refs/heads/main`. */
export function shortOf(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

/** Whether the system refused something: the disk is full, a folder is gone. */
export function isSystems(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
