/** Finds the repository, worktree and branch of a directory. */

import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Budget, BudgetedFs, type Unreachable } from "./filesystem.ts";
import { isBelow, joined, type MountPair, restBelow } from "./mounts.ts";
import { PathFacts } from "./paths.ts";

/**
 * Where a session works. `project` is common to all worktrees of a repository: the real path of the git common
 * directory. If that is called `.git`, it is the directory around it, the name that people know. (A submodule is a
 * project of its own, `.../.git/modules/NAME`.) Without a repository it is the real path of the working directory.
 */
export interface Repository {
  readonly project: string;
  /** Top of the working tree; for a bare repository, the repository. */
  readonly worktree: string;
  /** Null without a repository or with a detached HEAD. */
  readonly branch: string | null;
  readonly gitDir: string | null;
}

interface GitFactsOptions {
  readonly outside?: BudgetedFs;
  readonly paths?: PathFacts;
  /** The folders of containers that have another path here. */
  readonly mounted?: () => Iterable<MountPair>;
}

/** The name of the project whose worktrees share this git directory. */
export function projectAt(common: string): string {
  return basename(common) === ".git" ? dirname(common) : common;
}

interface Kept {
  readonly until: number;
  readonly repository: Promise<Repository | Unreachable>;
}

/**
 * Finds repositories by reading the files that git would read: `.git` upwards from the working directory, on its
 * filesystem; `gitdir:`, `commondir`, `HEAD`. It does not start git. It skips an empty `.git`, and a `.git` file that
 * is malformed or points to nothing.
 */
export class GitFacts {
  readonly #outside: BudgetedFs;
  readonly #paths: PathFacts;
  readonly #mounted: () => Iterable<MountPair>;
  readonly #kept = new BoundedMap<string, Kept>({ entriesMax: limits.repositoriesMax });

  /**
   * `outside` and `paths` must be the objects that the other facts use, or a device gets more probes than its limit.
   */
  constructor(options: GitFactsOptions = {}) {
    this.#outside = options.outside ?? new BudgetedFs();
    this.#paths = options.paths ?? new PathFacts({ outside: this.#outside });
    this.#mounted = options.mounted ?? (() => []);
  }

  /** Returns the repository around `cwd` (absolute), at most `limits.repositoryKeptMs` old; `isAnew`: as it is now. */
  repositoryOf(cwd: string, isAnew = false): Promise<Repository | Unreachable> {
    const now = this.#outside.now();
    const kept = this.#kept.get(cwd);
    if (!isAnew && kept !== undefined && now < kept.until) return kept.repository;
    const repository = this.lookUp(cwd);
    const fresh = { until: now + limits.repositoryKeptMs, repository };
    this.#kept.set(cwd, fresh);
    // A failure is not cached: the next caller gets the state of its time.
    const forget = () => {
      if (this.#kept.get(cwd) === fresh) this.#kept.delete(cwd);
    };
    repository.then(found => "unreachable" in found && forget(), forget);
    return repository;
  }

  /** Returns the repository around `cwd` (absolute) as it is now. */
  async lookUp(cwd: string): Promise<Repository | Unreachable> {
    const fact = await this.#paths.resolve("/", cwd);
    if ("unreachable" in fact) return fact;
    return this.#outside.fact(async budget => {
      const from = await this.#spelled(fact.real, budget);
      const start = await this.#stat(from, budget);
      for (let at = from; start !== null; at = dirname(at)) {
        const here = at === from ? start : await this.#stat(at, budget);
        if (here?.dev !== start.dev) break;
        const gitDir = await this.#gitDirAt(at, here.dev, budget);
        if (gitDir !== null) return this.#describe(at, gitDir, budget);
        if (at === "/") break;
      }
      return { project: from, worktree: from, branch: null, gitDir: null };
    });
  }

  /** Returns one spelling for all, or a directory named in another case would be another project. */
  async #spelled(real: string, budget: Budget): Promise<string> {
    return (await this.#outside.look(real, null, budget, (prober, path) => prober.realpath(path))) ?? real;
  }

  /** Returns the git directory of a working tree that begins at `at`, or `at` itself for a bare repository. */
  async #gitDirAt(at: string, device: bigint, budget: Budget): Promise<string | null> {
    const dotGit = resolve(at, ".git");
    const stat = await this.#outside.look(dotGit, device, budget, (prober, path) => prober.lstat(path));
    if (stat?.isFile()) {
      const text = await this.#read(dotGit, budget);
      const target = text?.match(/^gitdir: (.+)/)?.[1];
      if (target !== undefined) {
        const gitDir = await this.#real(resolve(at, target), budget);
        if (await this.#isGitDir(gitDir, budget)) return gitDir;
        const mapped = await this.#gitDirOfContainer(dotGit, target, budget);
        if (mapped !== null) return mapped;
      }
    } else if (stat !== null) {
      const gitDir = await this.#real(dotGit, budget);
      if (await this.#isGitDir(gitDir, budget)) return gitDir;
    }
    return (await this.#isGitDir(at, budget)) ? at : null;
  }

  /**
   * Returns the git directory that a `.git` file names in the paths of a container: git ran there. It counts only if it
   * names that file as its own, in the same paths or in this machine's.
   */
  async #gitDirOfContainer(dotGit: string, target: string, budget: Budget): Promise<string | null> {
    for (const { inside, outside } of this.#mounted()) {
      if (!isBelow(inside, target)) continue;
      const gitDir = await this.#real(joined(outside, restBelow(inside, target)), budget);
      if (!(await this.#isGitDir(gitDir, budget))) continue;
      const back = (await this.#read(`${gitDir}/gitdir`, budget))?.trim() ?? "";
      const own = isBelow(inside, back) ? joined(outside, restBelow(inside, back)) : back;
      if (own !== "" && (await this.#real(resolve(gitDir, own), budget)) === dotGit) return gitDir;
    }
    return null;
  }

  async #isGitDir(path: string, budget: Budget): Promise<boolean> {
    if ((await this.#stat(`${path}/HEAD`, budget)) === null) return false;
    if ((await this.#stat(`${path}/commondir`, budget))?.isFile()) return true;
    const objects = await this.#stat(`${path}/objects`, budget);
    const refs = await this.#stat(`${path}/refs`, budget);
    return objects !== null && refs?.isDirectory() === true;
  }

  /** Returns the directory that all worktrees of a repository share. */
  commonDirOf(gitDir: string): Promise<string | Unreachable> {
    return this.#outside.fact(budget => this.#common(gitDir, budget));
  }

  async #common(gitDir: string, budget: Budget): Promise<string> {
    const text = await this.#read(`${gitDir}/commondir`, budget);
    const words = text?.replace(/\n+$/, "") ?? "";
    return words === "" ? gitDir : this.#real(resolve(gitDir, words), budget);
  }

  async #describe(worktree: string, gitDir: string, budget: Budget): Promise<Repository> {
    const common = await this.#common(gitDir, budget);
    const ref = await this.#headOf(gitDir, budget);
    return {
      project: projectAt(common),
      worktree,
      // Repositories with another ref storage write this branch here, which cannot exist.
      branch: ref === null || ref === "refs/heads/.invalid" ? null : ref.replace(/^refs\/heads\//, ""),
      gitDir,
    };
  }

  /** Returns the ref that HEAD names, or null. In old repositories HEAD is a symbolic link. */
  async #headOf(gitDir: string, budget: Budget): Promise<string | null> {
    const path = `${gitDir}/HEAD`;
    if ((await this.#stat(path, budget))?.isSymbolicLink()) {
      return this.#outside.look(path, null, budget, (prober, p) => prober.readlink(p));
    }
    const text = await this.#read(path, budget);
    return text?.match(/^ref:\s*(.+)/)?.[1]?.trim() ?? null;
  }

  #stat(path: string, budget: Budget) {
    return this.#outside.look(path, null, budget, (prober, p) => prober.lstat(p));
  }

  async #read(path: string, budget: Budget): Promise<string | null> {
    if (!(await this.#stat(path, budget))?.isFile()) return null;
    return this.#outside.look(path, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes));
  }

  async #real(path: string, budget: Budget): Promise<string> {
    const { clock } = this.#outside;
    const before = clock.workedMs;
    const fact = await this.#paths.resolve("/", path);
    if ("unreachable" in fact) return this.#outside.noAnswer(fact.unreachable);
    budget.localMs -= clock.workedMs - before;
    return fact.real;
  }
}

// Repositories and worktrees in the folders of a worktree. Files that git would read are read anew: no cache is asked.

/** A folder of a worktree may have become a link. */
const how = { maybeElsewhere: true };

/** Whether nothing is in the folder. */
export async function isEmpty(outside: BudgetedFs, path: string, budget: Budget): Promise<boolean> {
  const names = await outside.look(path, null, budget, (prober, p) => prober.names(p, 1), how);
  return names === null || names.length === 0;
}

/** Whether `git worktree add` of the project made this worktree. It then has a state of its own. */
export async function isLinkedWorktree(
  outside: BudgetedFs,
  { project, worktree, gitDir }: Repository,
  budget: Budget,
): Promise<boolean> {
  if (gitDir === null) return false;
  const isBelow = [join(project, ".git"), project].some(common => gitDir.startsWith(`${common}/worktrees/`));
  const read = (path: string) =>
    outside.look(path, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes), how);
  return isBelow && (await read(join(gitDir, "gitdir")))?.trim() === join(worktree, ".git");
}
