/** Runs git for `kite merge`, in process groups of their own: a terminal's Ctrl-C never ends git amid a change. */
import { type ChildProcess, spawn } from "node:child_process";
import { LocalError } from "../../../client/errors.ts";
import { errorText } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { searchPath } from "../../../protocol/paths.ts";
import { signalCode } from "../../signals.ts";
import { signalGroup } from "../checks/run-one.ts";

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
  readonly said: string;
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
 * Returns git for the repository of `gitDir`, with the person's settings and identity, but without variables that point
 * it elsewhere, and never a git in the project.
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
  const said = new Text();
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk));
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
        else resolve({ code: code ?? signalCode(by), out: out.text, said: said.text });
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
  const { code, out, said } = await git(args, options);
  if (code === 0) return out;
  throw new GitFailed(`git ${commandIn(args)} failed: ${firstWords(said) || `exit code ${code}`}`);
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
export function firstWords(said: string): string {
  const lines = said.split("\n").filter(line => !/^(?:hint|warning):/.test(line) && line.trim() !== "");
  return lines.join(" ").slice(0, limits.quoteChars);
}
