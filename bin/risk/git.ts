/** Runs git for `kite risk`: git only reads the repository, and writes objects to a separate folder. */
import { execFile } from "node:child_process";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";

/** A failure of git, as a sentence for a person. */
export class GitFailed extends Error {
  override readonly name = "GitFailed";
}

/** The deadline of the whole command has passed. */
export class NoTime extends GitFailed {}

export interface Ran {
  readonly code: number;
  readonly out: string;
}

export type Git = (
  args: readonly string[],
  cwd: string,
  more?: Readonly<Record<string, string>>,
) => Promise<Ran>;

/**
 * Runs git with the person's settings, but without variables that point it at another repository, and never a git in the
 * project. Stops git at `deadline` (of `performance.now()`, in ms). Throws `GitFailed` if git gave no exit code.
 */
export function gitFor(env: Readonly<Record<string, string | undefined>>, deadline: number): Git {
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
      execFile("git", ["--no-pager", ...args], { ...options, killSignal: "SIGKILL" }, (error, out, said) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === "number") resolve({ code, out });
        else if (code === "ENOENT") reject(new GitFailed("git is not installed, or not in the PATH"));
        else if (error?.killed) reject(new GitFailed(`${what} took too long or wrote too much`));
        else reject(new GitFailed(`${what} failed: ${said.trim() || errorText(error)}`));
      });
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
