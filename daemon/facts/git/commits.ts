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

// What HEAD's log and the history say of commits: who rewrites, drops or publishes whose.

/** Where a worktree's HEAD and its log stand. */
export interface HeadMark {
  /** The commit that is checked out; null before the first commit, or if HEAD has no log. */
  readonly head: string | null;
  /** Length of HEAD's log in bytes; null if it has none. */
  readonly bytes: number | null;
}

/** One entry of HEAD's log. */
export interface HeadMove {
  readonly from: string;
  readonly to: string;
  /** By the clock of whoever moved it, in milliseconds. */
  readonly wallMs: number;
  /** `commit (amend): Subject`. */
  readonly text: string;
  /** Where its entry begins in the log, in bytes. */
  readonly at: number;
}

export interface HeadLog extends HeadMark {
  /** The oldest first. */
  readonly moves: readonly HeadMove[];
}

/** A commit between two places of a ref. */
export interface ListedCommit {
  readonly commit: string;
  readonly parents: readonly string[];
  /** When its content was written, in seconds. A rebase keeps it. */
  readonly authored: string;
  /** The first line of its message, at most `limits.subjectChars`. */
  readonly subject: string;
}

/** Reads the history: only plumbing that reads, and names of commits only as ids. */
export class HistoryFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;

  constructor(outside: BudgetedFs, git: GitChild = new GitChild()) {
    this.#outside = outside;
    this.#git = git;
  }

  /**
   * Reads HEAD's log from `since` on, without starting git; null: its end. Below zero: from the end backwards. Reads at most `limits.smallFileBytes`, the latest
   * entries of a longer piece.
   */
  async headLog(place: GitPlace, since: number | null): Promise<HeadLog | Unreachable> {
    const path = logOf(place);
    const stat = await this.#outside.fact(budget =>
      this.#outside.look(path, null, budget, (prober, at) => prober.lstat(at)),
    );
    if (stat !== null && "unreachable" in stat) return stat;
    if (!stat?.isFile()) return { head: null, bytes: null, moves: [] };
    const bytes = Number(stat.size);
    // A log that is shorter than before was made anew.
    const from = since === null || since > bytes ? bytes : Math.max(0, since < 0 ? bytes + since : since);
    const start = Math.max(0, Math.min(from, bytes - 1_024), bytes - limits.smallFileBytes);
    const text = await this.#outside.fact(budget =>
      this.#outside.look(path, null, budget, (_prober, at) => textFrom(at, start)),
    );
    if (text !== null && typeof text === "object") return text;
    const all: HeadMove[] = [];
    for (const line of (text ?? "").matchAll(logLine)) {
      const [, before = "", to = "", seconds = "0", words = ""] = line;
      const at = start + Buffer.byteLength((text ?? "").slice(0, line.index));
      all.push({ from: before, to, wallMs: Number(seconds) * 1_000, text: words, at });
    }
    const moves = all.filter(({ at }) => at >= from);
    return { head: all.at(-1)?.to ?? null, bytes, moves };
  }

  /**
   * Returns the commits that these have and those that `not` names do not, the latest first, at most `limits.refCommitsMax`.
   * `not`: ids, and names of groups of refs as `rev-list` knows them (`--all`).
   */
  async between(
    place: GitPlace,
    of: readonly string[],
    not: readonly string[],
    max: number = limits.refCommitsMax,
  ): Promise<readonly ListedCommit[] | Unreachable> {
    if (of.length === 0) return [];
    const bound = [`--max-count=${max}`, "--topo-order", "--ignore-missing"];
    const form = "--format=%H%x09%P%x09%at%x09%s";
    const args = ["rev-list", ...bound, form, ...of, ...(not.length === 0 ? [] : ["--not", ...not]), "--"];
    const { code, out, errorText } = await this.#run(place, args);
    if (code !== 0) return unreachable(errorText);
    return out.split("\n").flatMap(line => {
      const [commit = "", parents = "", authored = "", ...words] = line.split("\t");
      if (!isId.test(commit)) return [];
      const subject = words.join("\t").slice(0, limits.subjectChars);
      return [{ commit, parents: parents.split(" ").filter(id => id !== ""), authored, subject }];
    });
  }

  /** The refs below these names, with the ids of their commits. */
  async refs(
    place: GitPlace,
    ...below: readonly string[]
  ): Promise<ReadonlyMap<string, string> | Unreachable> {
    const args = ["for-each-ref", "--format=%(refname) %(objectname)", ...below];
    const { code, out, errorText } = await this.#run(place, args);
    if (code !== 0) return unreachable(errorText);
    return new Map([...out.matchAll(/^(\S+) ([\da-f]+)$/gm)].map(([, name = "", id = ""]) => [name, id]));
  }

  /** A small file of the git directory, without the blanks around it; null: there is none. */
  async small({ gitDir }: GitPlace, name: string): Promise<string | null | Unreachable> {
    const text = await this.#outside.fact(budget =>
      this.#outside.look(`${gitDir}/${name}`, null, budget, (prober, at) =>
        prober.readSmall(at, limits.smallFileBytes),
      ),
    );
    return typeof text === "string" ? text.trim() : text;
  }

  /** The settings whose names match, each with its values in git's order. */
  async settings(
    place: GitPlace,
    pattern: string,
  ): Promise<ReadonlyMap<string, readonly string[]> | Unreachable> {
    const { code, out, errorText } = await this.#run(place, ["config", "-z", "--get-regexp", pattern]);
    if (code === null) return unreachable(errorText);
    const found = new Map<string, readonly string[]>();
    for (const entry of code === 0 ? out.split("\0") : []) {
      if (entry === "") continue;
      const end = entry.indexOf("\n");
      const [key, value] = end === -1 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
      found.set(key, [...(found.get(key) ?? []), value]);
    }
    return found;
  }

  #run({ worktree, gitDir }: GitPlace, args: readonly string[]): Promise<GitAnswer> {
    const at = ["-c", "i18n.logOutputEncoding=UTF-8", `--git-dir=${gitDir}`, `--work-tree=${worktree}`];
    return this.#git.run(
      [...at, ...args],
      worktree,
      new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs),
    );
  }
}

const isId = /^[\da-f]{40,64}$/;
const logLine = /^([\da-f]{40,64}) ([\da-f]{40,64}) [^\t\n]*?(\d+) [-+]\d{4}(?:\t(.*))?$/gm;
