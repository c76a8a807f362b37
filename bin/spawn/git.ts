/** Worktrees and branches of spawned agents, as git in the requester's process makes and removes them. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { branchOf, worktreesFolder } from "../../hooks/claude-code/spawn/words.ts";
import { plain } from "../../protocol/text.ts";
import { type Env, neededProgram, ProgramFailed, type Ran, runProgram } from "./programs.ts";

export interface Place {
  readonly worktree: string;
  readonly branch: string;
}

export class Git {
  readonly #env: Env;
  readonly #cwd: string;

  /** Runs in `cwd`, without variables that point git at another repository. */
  constructor(env: Env, cwd: string) {
    const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
    this.#env = { ...Object.fromEntries(own), LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
    this.#cwd = cwd;
  }

  run(...args: readonly string[]): Promise<Ran> {
    const program = neededProgram("git", this.#env, this.#cwd);
    return runProgram(program, ["--no-pager", ...args], { cwd: this.#cwd, env: this.#env });
  }

  /** Returns the output of a command. Throws `ProgramFailed` with git's own words if it fails. */
  async told(...args: readonly string[]): Promise<string> {
    const { code, output } = await this.run(...args);
    if (code === 0) return output;
    throw new ProgramFailed(`git ${args[0]} failed: ${plain(output).slice(-500)}`, output);
  }

  async succeeds(...args: readonly string[]): Promise<boolean> {
    return (await this.run(...args)).code === 0;
  }
}

/** Returns the main worktree of the repository around `cwd`, in which the client makes its worktrees. */
export async function mainWorktree(git: Git): Promise<string> {
  const common = (await git.told("rev-parse", "--path-format=absolute", "--git-common-dir")).trim();
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
  await git.told("worktree", "add", "-b", branch, worktree, `${base}^{commit}`);
}

/**
 * Removes a worktree and its branch if nothing would be lost; returns why it stays, or null. Git refuses a worktree with
 * uncommitted work. Commits count as kept elsewhere if `HEAD` of the main worktree, `base` or a remote has them.
 */
export async function removeWorktree(
  git: Git,
  { worktree, branch }: Pick<Place, "worktree"> & { readonly branch: string | null },
  base: string | null,
): Promise<string | null> {
  const lost = branch === null ? null : await commitsOnly(git, branch, base);
  if (lost !== null) return lost;
  if (existsSync(worktree)) {
    // The client locks its worktrees, and unlocks them at an end that it sees.
    await git.run("worktree", "unlock", worktree);
    const { code, output } = await git.run("worktree", "remove", worktree);
    if (code !== 0) return plain(output).slice(-500);
  }
  await git.run("worktree", "prune");
  if (branch !== null && (await git.succeeds("show-ref", "--verify", "--quiet", `refs/heads/${branch}`))) {
    const { code, output } = await git.run("branch", "-D", "--", branch);
    if (code !== 0) return plain(output).slice(-500);
  }
  return null;
}

/** Returns a sentence if the branch has commits that are nowhere else, or null. */
async function commitsOnly(git: Git, branch: string, base: string | null): Promise<string | null> {
  const ref = `refs/heads/${branch}`;
  if (!(await git.succeeds("show-ref", "--verify", "--quiet", ref))) return null;
  const count = await countOnlyIn(git, ref, base);
  if (count === 0) return null;
  return `its branch ${branch} has commits that are nowhere else (${count}); merge or push them first`;
}

/** Returns the number of commits that `end` has, and neither `HEAD` of the main worktree, `base` nor a remote. */
export async function countOnlyIn(git: Git, end: string, base: string | null): Promise<number> {
  const isKnown =
    base !== null && (await git.succeeds("rev-parse", "--verify", "--quiet", `${base}^{commit}`));
  const others = ["--not", "HEAD", ...(isKnown ? [base] : []), "--remotes"];
  return Number((await git.told("rev-list", "--count", end, ...others)).trim());
}
