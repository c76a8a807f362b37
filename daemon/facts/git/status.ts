/** The uncommitted state of single files, without `git status`. */
import type { BigIntStats } from "node:fs";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Budget, BudgetedFs, Look, Unreachable } from "../filesystem.ts";
import { Allowance } from "../work-clock.ts";
import { contentOf, oidOf } from "./blob.ts";
import { entriesOf, type Staged, statText } from "./index.ts";
import { type GitChild, type GitPlace, unreachable } from "./process.ts";

/** What git knows of one file. If all are false, the file has no uncommitted change. */
export interface FileState {
  /** The index differs from the commit. */
  readonly staged: boolean;
  /** The file differs from the index. */
  readonly changed: boolean;
  /** Neither the commit nor the index has the file, and git does not ignore it. */
  readonly untracked: boolean;
  /** Git ignores it. */
  readonly ignored: boolean;
  /** The commit does not have the file. */
  readonly isNew: boolean;
}

/** Git's answer for the files in `asked`, for one state of the index. */
interface Index {
  readonly stamp: string;
  readonly mtimeNs: bigint;
  readonly entries: ReadonlyMap<string, Staged>;
  readonly asked: ReadonlySet<string>;
}

/**
 * Returns the uncommitted state of a few files as `git status` would, without its walk and without the filters that a
 * repository configures. Git reports index and commit; this class compares the files with the index by stat, else by
 * content. If a filter or an end-of-line conversion applies, a file that was touched but is unchanged counts as changed
 * until git itself refreshes its index.
 */
export class WorkFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;
  readonly #indexes = new BoundedMap<string, Index>({ entriesMax: limits.guardIndexesMax });

  constructor(outside: BudgetedFs, git: GitChild) {
    this.#outside = outside;
    this.#git = git;
  }

  /** Returns a budget for one query; several queries may share it. */
  allowance(): Allowance {
    return new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs);
  }

  /** Returns the states of `files` (relative to the worktree), within the allowance. */
  async look(
    place: GitPlace,
    files: readonly string[],
    allowance: Allowance = this.allowance(),
  ): Promise<ReadonlyMap<string, FileState> | Unreachable> {
    const [index, commit] = await Promise.all([
      this.#index(place, files, allowance),
      this.#commit(place, files, allowance),
    ]);
    if ("unreachable" in index) return index;
    if ("unreachable" in commit) return commit;
    const found = await this.#outside.fact(async budget => {
      const states = new Map<string, FileState>();
      for (const file of files) {
        const path = join(place.worktree, file);
        const stat = await this.#stat(path, budget);
        const entry = index.entries.get(file);
        const staged =
          entry === undefined
            ? commit.has(file)
            : entry.isUnmerged || commit.get(file) !== `${entry.mode} ${entry.oid}`;
        const changed = entry !== undefined && (await this.#isChanged(path, entry, stat, index, budget));
        const untracked = entry === undefined && stat !== null;
        const isNew = !commit.has(file) && (entry !== undefined || stat !== null);
        states.set(file, { staged, changed, untracked, ignored: false, isNew });
      }
      return states;
    });
    return "unreachable" in found ? found : this.#withoutIgnored(place, found, allowance);
  }

  /** Returns the top of the worktree of a command with its own git directory; null if it has none. */
  async top(cwd: string, gitDir: string): Promise<string | null | Unreachable> {
    const args = [`--git-dir=${gitDir}`, "rev-parse", "--show-toplevel"];
    const { code, out, said } = await this.#git.run(args, cwd, this.allowance());
    if (code === null) return unreachable(said);
    const top = out.replace(/\n$/, "");
    return code === 0 && top !== "" ? top : null;
  }

  /** Returns the text of `alias.<name>` for a command in `cwd`; null if it is not set. */
  async alias(name: string, cwd: string, gitDir: string | null): Promise<string | null | Unreachable> {
    const given = gitDir === null ? [] : [`--git-dir=${gitDir}`];
    const args = [...given, "config", "--get", `alias.${name}`];
    const { code, out, said } = await this.#git.run(args, cwd, this.allowance());
    if (code === null) return unreachable(said);
    return code === 0 ? out.replace(/\n$/, "") : null;
  }

  /** Git reads a large index whole even for a few files: its answer is cached until the index changes. */
  async #index(
    place: GitPlace,
    files: readonly string[],
    allowance: Allowance,
  ): Promise<Index | Unreachable> {
    const path = join(place.gitDir, "index");
    const before = await this.#outside.fact(budget => this.#stat(path, budget));
    if (before !== null && "unreachable" in before) return before;
    const stamp = before === null ? "" : statText(before);
    const kept = this.#indexes.get(place.gitDir);
    const known = kept?.stamp === stamp && kept.asked.size < limits.guardIndexMax ? kept : null;
    const index = known ?? { stamp, mtimeNs: before?.mtimeNs ?? 0n, entries: new Map(), asked: new Set() };
    const fresh = files.filter(file => !index.asked.has(file));
    if (fresh.length === 0) return index;
    const args = [
      ...at(place),
      "--literal-pathspecs",
      "ls-files",
      "-s",
      "-t",
      "-z",
      "--debug",
      "--",
      ...fresh,
    ];
    const { code, out, said } = await this.#git.run(args, place.worktree, allowance);
    if (code !== 0) return unreachable(said);
    const found = entriesOf(out);
    if (found === null) return { unreachable: "git writes its index in a form that Kite does not know" };
    const entries = new Map([...index.entries, ...found]);
    const grown = { ...index, entries, asked: new Set([...index.asked, ...fresh]) };
    const after = await this.#outside.fact(budget => this.#stat(path, budget));
    const isSame = after !== null && !("unreachable" in after) && statText(after) === stamp;
    if (isSame) this.#indexes.set(place.gitDir, grown);
    return grown;
  }

  /** Returns mode and content id of each file in the commit; none before the first commit. */
  async #commit(place: GitPlace, files: readonly string[], allowance: Allowance) {
    const args = [
      ...at(place),
      "--literal-pathspecs",
      "ls-tree",
      "-r",
      "-z",
      "--full-tree",
      "HEAD",
      "--",
      ...files,
    ];
    const { code, out, said } = await this.#git.run(args, place.worktree, allowance);
    if (code !== 0 && !said.includes("Not a valid object name HEAD")) return unreachable(said);
    const committed = new Map<string, string>();
    for (const [, mode, oid, file] of out.matchAll(/(\d{6}) \w+ ([0-9a-f]+)\t([^\0]*)\0/g)) {
      if (file !== undefined) committed.set(file, `${mode} ${oid}`);
    }
    return committed;
  }

  async #isChanged(
    path: string,
    entry: Staged,
    stat: BigIntStats | null,
    { mtimeNs }: Index,
    budget: Budget,
  ): Promise<boolean> {
    if (entry.isSkipped) return false;
    if (entry.isUnmerged || stat === null) return true;
    // A file written at the time of the index, or later, may have changed without a trace in its stat.
    if (statText(stat) === entry.stat && entry.mtimeNs < mtimeNs) return false;
    if (stat.size > limits.hashBytes) return true;
    const content = await this.#outside.look(path, stat.dev, budget, () => contentOf(path, stat), inWorktree);
    return content === null || oidOf(content, entry.oid.length) !== entry.oid;
  }

  async #withoutIgnored(
    place: GitPlace,
    states: Map<string, FileState>,
    allowance: Allowance,
  ): Promise<ReadonlyMap<string, FileState> | Unreachable> {
    const untracked = [...states].filter(([, state]) => state.untracked).map(([file]) => file);
    if (untracked.length === 0) return states;
    const names = untracked.map(file => `./${file}\0`).join("");
    const args = [...at(place), "check-ignore", "--no-index", "-z", "--stdin"];
    const { code, out, said } = await this.#git.run(args, place.worktree, allowance, names);
    if (code !== 0 && code !== 1) return unreachable(said);
    for (const name of out.split("\0")) {
      const state = states.get(name.slice(2));
      if (state !== undefined) states.set(name.slice(2), { ...state, untracked: false, ignored: true });
    }
    return states;
  }

  #stat(path: string, budget: Budget): Promise<BigIntStats | null> {
    return this.#outside.look(path, null, budget, (prober, p) => prober.lstat(p), inWorktree);
  }
}

/** A folder of a worktree may have become a link since its files were written. */
const inWorktree: Look = { maybeElsewhere: true };

function at({ worktree, gitDir }: GitPlace): string[] {
  return [`--git-dir=${gitDir}`, `--work-tree=${worktree}`];
}
