/** Worktrees and branches of spawned agents, as git in the requester's process makes and removes them. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { branchOf, isClientsLock, worktreesFolder } from "../../../hooks/claude-code/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import { type Env, neededProgram, ProgramFailed, type Ran, runProgram } from "../../context/programs.ts";

export interface Place {
  readonly worktree: string;
  readonly branch: string;
}

export class Git {
  #env: Env;
  readonly #cwd: string;

  /** Runs in `cwd`, without variables that point git at another repository. */
  constructor(env: Env, cwd: string) {
    const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
    this.#env = { ...Object.fromEntries(own), LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
    this.#cwd = cwd;
  }

  /** Returns git with another index than the worktree's own. */
  withIndex(file: string): Git {
    const other = new Git({}, this.#cwd);
    other.#env = { ...this.#env, GIT_INDEX_FILE: file };
    return other;
  }

  run(...args: readonly string[]): Promise<Ran> {
    const program = neededProgram("git", this.#env, this.#cwd);
    return runProgram(program, ["--no-pager", ...args], { cwd: this.#cwd, env: this.#env });
  }

  /** Returns the output of a command. Throws `ProgramFailed` with git's own words if it fails. */
  async outputOf(...args: readonly string[]): Promise<string> {
    const { code, output } = await this.run(...args);
    if (code === 0) return output;
    throw new ProgramFailed(`git ${args[0]} failed: ${plain(output).slice(-500)}`, output);
  }

  async succeeds(...args: readonly string[]): Promise<boolean> {
    return (await this.run(...args)).code === 0;
  }

  /**
   * Returns the standard output of a command, which may be long, and gives the command `input`. No program of the
   * repository's settings watches the files for it. Throws `ProgramFailed` with git's own words if it fails.
   */
  read(args: readonly string[], input = ""): Promise<string> {
    const program = neededProgram("git", this.#env, this.#cwd);
    const words = ["--no-pager", "-c", "core.fsmonitor=false", ...args];
    const options = {
      cwd: this.#cwd,
      env: this.#env,
      maxBuffer: limits.spawnListBytes,
      timeout: limits.spawnProgramMs,
    };
    return new Promise((resolve, reject) => {
      const child = execFile(program, words, options, (error, out, stderr) => {
        if (error === null) resolve(out);
        else
          reject(
            new ProgramFailed(`git ${args[0]} failed: ${plain(stderr || error.message).slice(-500)}`, stderr),
          );
      });
      // A program that ends early reads no input; its exit code says why.
      child.stdin?.on("error", () => undefined).end(input);
    });
  }
}

/** Returns the main worktree of the repository around `cwd`, in which the client makes its worktrees. */
export async function mainWorktree(git: Git): Promise<string> {
  const common = (await git.outputOf("rev-parse", "--path-format=absolute", "--git-common-dir")).trim();
  return common.endsWith("/.git") ? dirname(common) : common;
}

/** Returns the checked out branch, or the commit if there is none; null outside a repository or before a commit. */
export async function headOf(git: Git): Promise<string | null> {
  const { code, output } = await git.run("symbolic-ref", "--quiet", "--short", "HEAD");
  const commit = await git.run("rev-parse", "--verify", "--quiet", "HEAD");
  if (commit.code !== 0) return null;
  return code === 0 ? output.trim() : commit.output.trim();
}

/**
 * Returns what `from` means for good: a branch by its name, anything else (`HEAD`, `main~2`, a tag) as the commit that it is
 * now. Text that git does not know stays as it is.
 */
export async function baseOf(git: Git, from: string): Promise<string> {
  if (from.startsWith("-")) return from;
  for (const refs of ["refs/heads/", "refs/remotes/"])
    if (await git.succeeds("show-ref", "--verify", "--quiet", `${refs}${from}`)) return from;
  const { code, output } = await git.run("rev-parse", "--verify", "--quiet", `${from}^{commit}`);
  return code === 0 ? output.trim() : from;
}

/** Returns where the worktree of an agent of this name will be. Throws `ProgramFailed` if something is there. */
export async function freePlace(git: Git, name: string): Promise<Place> {
  const place = { worktree: join(await mainWorktree(git), worktreesFolder, name), branch: branchOf(name) };
  const isTaken =
    existsSync(place.worktree) ||
    (await git.succeeds("show-ref", "--verify", "--quiet", `refs/heads/${place.branch}`));
  if (!isTaken) return place;
  throw new ProgramFailed(
    `${place.worktree} or the branch ${place.branch} is there already; choose another --name, or remove both`,
  );
}

/** Makes the worktree with a branch that begins at `base`. */
export async function addWorktree(git: Git, { worktree, branch }: Place, base: string): Promise<void> {
  const isCommit = await git.succeeds("rev-parse", "--verify", "--quiet", `${base}^{commit}`);
  if (base.startsWith("-") || !isCommit)
    throw new ProgramFailed(`git knows no branch or commit ${plain(base)} here; git branch --all lists them`);
  await git.outputOf("worktree", "add", "-b", branch, worktree, `${base}^{commit}`);
}

/** Returns git's own folder of a linked worktree, also if the worktree's folder is gone; null: git knows no such worktree. */
export async function gitDirOf(git: Git, worktree: string): Promise<string | null> {
  const common = (await git.outputOf("rev-parse", "--path-format=absolute", "--git-common-dir")).trim();
  const all = join(common, "worktrees");
  for (const name of existsSync(all) ? readdirSync(all) : []) {
    const file = join(all, name, "gitdir");
    if (existsSync(file) && dirname(resolve(all, name, readFileSync(file, "utf8").trim())) === worktree)
      return join(all, name);
  }
  return null;
}

/** Returns why git has the worktree locked, if its agent's client did not lock it; null: nobody else did. */
export function foreignLock(gitDir: string): string | null {
  const file = join(gitDir, "locked");
  if (!existsSync(file)) return null;
  const reason = plain(readFileSync(file, "utf8"));
  return isClientsLock(reason) ? null : reason || "no reason given";
}

/**
 * Removes a worktree and its branch after a look found that nothing would be lost; returns why something stays, or null. Git
 * refuses if files changed since. What is gone already counts as removed.
 */
export async function removeWorktree(
  git: Git,
  { worktree, branch }: Pick<Place, "worktree"> & { readonly branch: string | null },
  hasModules: boolean,
): Promise<string | null> {
  if ((await gitDirOf(git, worktree)) !== null) {
    // The client locks its worktrees, and unlocks them at an end that it sees.
    await git.run("worktree", "unlock", worktree);
    // Git removes no worktree with a submodule otherwise.
    const force = hasModules ? ["--force"] : [];
    const { code, output } = await git.run("worktree", "remove", ...force, worktree);
    if (code !== 0) return `git did not remove its worktree ${worktree}: ${reasonIn(output)}`;
  }
  if (branch === null || !(await git.succeeds("show-ref", "--verify", "--quiet", `refs/heads/${branch}`)))
    return null;
  // Somebody has it checked out elsewhere, so it is theirs now.
  const heads = (await git.read(["worktree", "list", "--porcelain", "-z"])).split("\0");
  if (heads.includes(`branch refs/heads/${branch}`)) return null;
  const { code, output } = await git.run("branch", "-D", "--", branch);
  return code === 0 ? null : `git did not remove its branch ${branch}: ${reasonIn(output)}`;
}

/** Returns git's reason without its advice to use force, which an agent might follow. */
function reasonIn(output: string): string {
  if (/modified or untracked/.test(output)) return "its files changed meanwhile; run kite agents prune again";
  const lines = output.split("\n").filter(line => !/(?:^|[\s'"])(?:--force|-f|-D)\b/.test(line));
  return plain(lines.join("\n")).slice(-500) || "it gave no reason";
}
