/** Which commits were made while a command ran, by git's own records. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { type GitFacts, projectAt } from "../repositories.ts";
import { Allowance } from "../work-clock.ts";
import { type GitAnswer, GitChild, type GitPlace, unreachable } from "./process.ts";

/** A repository's HEAD at one moment. */
export interface CommitMark {
  /** The commit that was checked out; null before the first commit. */
  readonly head: string | null;
  /** Length of HEAD's log in bytes; null if it has none. */
  readonly logBytes: number | null;
}

export class CommitFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;

  constructor(outside: BudgetedFs, git: GitChild = new GitChild()) {
    this.#outside = outside;
    this.#git = git;
  }

  /** Returns the repository's mark of now. */
  async mark(place: GitPlace): Promise<CommitMark | Unreachable> {
    const log = await this.#outside.fact(budget =>
      this.#outside.look(logOf(place), null, budget, (prober, path) => prober.lstat(path)),
    );
    if (log !== null && "unreachable" in log) return log;
    const head = await this.#head(place);
    if (head !== null && typeof head === "object") return head;
    return { head, logBytes: log?.isFile() ? Number(log.size) : null };
  }

  /**
   * Returns those of `files` (relative to the worktree) that are in commits made since `mark`, each with the
   * abbreviated id of its latest commit. Checks only the latest `limits.guardCommitsMax` commits.
   */
  async commits(
    place: GitPlace,
    mark: CommitMark,
    files: readonly string[],
  ): Promise<ReadonlyMap<string, string> | Unreachable> {
    const commits = await this.#since(place, mark);
    if ("unreachable" in commits) return commits;
    const found = new Map<string, string>();
    for (const commit of commits) {
      const missing = files.filter(file => !found.has(file));
      if (missing.length === 0) break;
      const args = ["diff-tree", "--root", "--no-commit-id", "-r", "-z", "--name-only", commit, "--"];
      const { code, out, errorText } = await this.#run(place, ["--literal-pathspecs", ...args, ...missing]);
      if (code !== 0) return unreachable(errorText);
      const id = commit.slice(0, limits.commitIdChars);
      for (const file of out.split("\0")) if (file !== "") found.set(file, id);
    }
    return found;
  }

  /** Returns the commits made after the mark, latest first: by HEAD's log, or without one the current commit. */
  async #since(place: GitPlace, { head, logBytes }: CommitMark): Promise<readonly string[] | Unreachable> {
    const log = await this.#outside.fact(budget =>
      this.#outside.look(logOf(place), null, budget, (_prober, path) => textFrom(path, logBytes ?? 0)),
    );
    if (log !== null && typeof log === "object") return log;
    if (log !== null) {
      const made = [...log.matchAll(/^[0-9a-f]+ ([0-9a-f]{40,64}) [^\t\n]*\tcommit\b/gm)];
      const ids = made.flatMap(([, id]) => id ?? []);
      return [...new Set(ids.reverse())].slice(0, limits.guardCommitsMax);
    }
    const now = await this.#head(place);
    if (now !== null && typeof now === "object") return now;
    return now === null || now === head ? [] : [now];
  }

  async #head(place: GitPlace): Promise<string | null | Unreachable> {
    const { code, out, errorText } = await this.#run(place, ["rev-parse", "--verify", "--quiet", "HEAD"]);
    if (code === 1) return null;
    return code === 0 ? out.trim() : unreachable(errorText);
  }

  #run({ worktree, gitDir }: GitPlace, args: readonly string[]): Promise<GitAnswer> {
    const at = [`--git-dir=${gitDir}`, `--work-tree=${worktree}`];
    return this.#git.run(
      [...at, ...args],
      worktree,
      new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs),
    );
  }
}

/** Each worktree has a log of its own. */
function logOf({ gitDir }: GitPlace): string {
  return `${gitDir}/logs/HEAD`;
}

/** Returns a regular file's text from `start`, at most `limits.smallFileBytes`; null if it is no regular file. */
async function textFrom(path: string, start: number): Promise<string | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    if (!(await handle.stat()).isFile()) return null;
    const buffer = Buffer.alloc(limits.smallFileBytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

// The stash list of a repository, as git's own log of it says.

/** One entry of a stash list. */
export interface ListedStash {
  /** The id of its commit. */
  readonly commit: string;
  /** When it was made, by the clock of whoever made it, in milliseconds. */
  readonly wallMs: number;
}

/** The stash list that all worktrees of a project share. */
export interface StashList {
  readonly project: string;
  /** The latest first: `stash@{0}`, `stash@{1}` and so on. */
  readonly entries: readonly ListedStash[];
}

/** Reads the stash list of a repository from the log of `refs/stash`, without starting git. */
export async function stashList(
  outside: BudgetedFs,
  git: GitFacts,
  { gitDir }: Pick<GitPlace, "gitDir">,
): Promise<StashList | Unreachable> {
  const common = await git.commonDirOf(gitDir);
  if (typeof common !== "string") return common;
  const text = await outside.fact(async budget => {
    const stat = (path: string) => outside.look(path, null, budget, (prober, at) => prober.lstat(at));
    if ((await stat(`${common}/reftable`)) !== null)
      return outside.noAnswer(`${common} keeps its references in a form that Kite does not read`);
    const log = `${common}/logs/refs/stash`;
    if ((await stat(log)) === null) return "";
    const max = limits.stashLogBytes;
    const read = await outside.look(log, null, budget, (prober, at) => prober.readSmall(at, max));
    return read ?? outside.noAnswer(`${log} is no file of at most ${max / 1024} KiB`);
  });
  if (typeof text !== "string") return text;
  const lines = [...text.matchAll(/^[\da-f]{40,64} ([\da-f]{40,64}) [^\t\n]*?(\d+) [-+]\d{4}(?:\t|$)/gm)];
  const entries = lines.map(([, commit = "", seconds]) => ({ commit, wallMs: Number(seconds) * 1000 }));
  return { project: projectAt(common), entries: entries.reverse() };
}
