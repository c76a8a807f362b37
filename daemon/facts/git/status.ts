/** The uncommitted state of single files, without `git status`. */

import type { BigIntStats } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Budget, BudgetedFs, Look, Unreachable } from "../filesystem.ts";
import { Allowance } from "../work-clock.ts";
import {
  contentOf,
  type GitAnswer,
  type GitChild,
  type GitPlace,
  oidOf,
  type TakeOutput,
  unreachable,
} from "./process.ts";

// Git's index, as `ls-files -s -t -z --debug` writes it.

/** A file's entry in the index. */
export interface Staged {
  readonly mode: string;
  readonly oid: string;
  /** Sparse checkout: the file is intentionally not in the working tree. */
  readonly isSkipped: boolean;
  readonly isUnmerged: boolean;
  /** The file's stat when it last equalled the index: change time, modification time, inode, size. */
  readonly stat: string;
  readonly mtimeNs: bigint;
}

const entryPattern =
  /(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0 {2}ctime: (\d+):(\d+)\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: (\d+)\n[^\n]*\n {2}size: (\d+)\t[^\n]*\n/y;

/**
 * Parses the index as `ls-files -s -t -z --debug` writes it, piece by piece. No other command shows the same without
 * running filters (`diff-files` does, for a file as new as the index).
 */
class IndexParser {
  readonly #found: (file: string, entry: Staged) => void;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** Calls `found` for each entry, in git's order. */
  constructor(found: (file: string, entry: Staged) => void) {
    this.#found = found;
  }

  /** Parses a piece; false if git writes another form, as its manual reserves. */
  push(chunk: Buffer): boolean {
    const text = this.#rest + this.#decoder.write(chunk);
    let end = 0;
    for (;;) {
      entryPattern.lastIndex = end;
      const match = entryPattern.exec(text);
      if (match === null) break;
      end = entryPattern.lastIndex;
      const [, tag, mode = "", oid = "", stage, file = "", ...numbers] = match;
      const [cs = "0", cns = "0", ms = "0", mns = "0", ino = "0", size = "0"] = numbers;
      const mtimeNs = BigInt(ms) * 1_000_000_000n + BigInt(mns);
      const stat = `${BigInt(cs) * 1_000_000_000n + BigInt(cns)} ${mtimeNs} ${ino} ${size}`;
      this.#found(file, { mode, oid, isSkipped: tag === "S", isUnmerged: stage !== "0", stat, mtimeNs });
    }
    this.#rest = text.slice(end);
    return this.#rest.length <= limits.indexEntryChars;
  }

  /** Whether the pieces so far were whole entries. */
  get isWhole(): boolean {
    return this.#rest === "" && this.#decoder.end() === "";
  }
}

/** Parses all of git's output; null if git writes another form. */
function entriesOf(out: string): Map<string, Staged> | null {
  const found = new Map<string, Staged>();
  const parser = new IndexParser((file, entry) => found.set(file, entry));
  parser.push(Buffer.from(out));
  return parser.isWhole ? found : null;
}

/** A stat as the index stores it, with 32 bits for each number. */
export function statText({ ctimeNs, mtimeNs, ino, size }: BigIntStats): string {
  return `${ctimeNs} ${mtimeNs} ${ino & 0xffffffffn} ${size & 0xffffffffn}`;
}

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

/** Git's answer for the files in `files`, for one state of the index. */
interface Index {
  readonly stamp: string;
  readonly mtimeNs: bigint;
  readonly entries: ReadonlyMap<string, Staged>;
  readonly files: ReadonlySet<string>;
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
    const { code, out, errorText } = await this.#git.run(args, cwd, this.allowance());
    if (code === null) return unreachable(errorText);
    const top = out.replace(/\n$/, "");
    return code === 0 && top !== "" ? top : null;
  }

  /** Returns the text of `alias.<name>` for a command in `cwd`; null if it is not set. */
  async alias(name: string, cwd: string, gitDir: string | null): Promise<string | null | Unreachable> {
    const options = gitDir === null ? [] : [`--git-dir=${gitDir}`];
    const args = [...options, "config", "--get", `alias.${name}`];
    const { code, out, errorText } = await this.#git.run(args, cwd, this.allowance());
    if (code === null) return unreachable(errorText);
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
    const known = kept?.stamp === stamp && kept.files.size < limits.guardIndexMax ? kept : null;
    const index = known ?? { stamp, mtimeNs: before?.mtimeNs ?? 0n, entries: new Map(), files: new Set() };
    const fresh = files.filter(file => !index.files.has(file));
    if (fresh.length === 0) return index;
    const args = [
      ...placeOptions(place),
      "--literal-pathspecs",
      "ls-files",
      "-s",
      "-t",
      "-z",
      "--debug",
      "--",
      ...fresh,
    ];
    const { code, out, errorText } = await this.#git.run(args, place.worktree, allowance);
    if (code !== 0) return unreachable(errorText);
    const found = entriesOf(out);
    if (found === null) return { unreachable: "git writes its index in a form that Kite does not know" };
    const entries = new Map([...index.entries, ...found]);
    const grown = { ...index, entries, files: new Set([...index.files, ...fresh]) };
    const after = await this.#outside.fact(budget => this.#stat(path, budget));
    const isSame = after !== null && !("unreachable" in after) && statText(after) === stamp;
    if (isSame) this.#indexes.set(place.gitDir, grown);
    return grown;
  }

  /** Returns mode and content id of each file in the commit; none before the first commit. */
  async #commit(place: GitPlace, files: readonly string[], allowance: Allowance) {
    const args = [
      ...placeOptions(place),
      "--literal-pathspecs",
      "ls-tree",
      "-r",
      "-z",
      "--full-tree",
      "HEAD",
      "--",
      ...files,
    ];
    const { code, out, errorText } = await this.#git.run(args, place.worktree, allowance);
    if (code !== 0 && !errorText.includes("Not a valid object name HEAD")) return unreachable(errorText);
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
    const args = [...placeOptions(place), "check-ignore", "--no-index", "-z", "--stdin"];
    const { code, out, errorText } = await this.#git.run(args, place.worktree, allowance, names);
    if (code !== 0 && code !== 1) return unreachable(errorText);
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

function placeOptions({ worktree, gitDir }: GitPlace): string[] {
  return [`--git-dir=${gitDir}`, `--work-tree=${worktree}`];
}

// What git lists of a whole worktree: its commit, its index, and the files that git does not track.

/** The state could not be told, for the reason in `message`. Thrown within the facts, reported by them. */
export class NotTold extends Error {
  override readonly name = "NotTold";
}

/** The files of a worktree, by their path from its top. */
export interface GitLists {
  /** The id of the commit; null before the first one. */
  readonly commit: string | null;
  readonly tracked: ReadonlyMap<string, Staged>;
  /** Files whose entry in the index differs from the commit: mode and id in the commit; null: the commit has none. */
  readonly staged: ReadonlyMap<string, string | null>;
  /** Files that git neither tracks nor ignores; a repository in the worktree with a slash at its end. */
  readonly untracked: readonly string[];
  /** The index's modification time: a file as new as it may have changed without a trace in its stat. */
  readonly indexMtimeNs: bigint;
}

/** Lists one worktree. All lists are of the same index. Throws `NotTold`. */
export class ListFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;

  constructor(outside: BudgetedFs, git: GitChild) {
    this.#outside = outside;
    this.#git = git;
  }

  async of(place: GitPlace, allowance: Allowance): Promise<GitLists> {
    for (let tries = 0; tries < limits.stateTriesMax; tries += 1) {
      const before = await this.#index(place);
      const commit = await this.#commit(place, allowance);
      const [tracked, staged] = await Promise.all([
        this.#tracked(place, allowance),
        commit === null ? null : this.#staged(place, commit, allowance),
      ]);
      const untracked = await this.#untracked(place, allowance);
      if ((await this.#index(place)).stamp !== before.stamp) continue;
      const fresh = () => new Map([...tracked.keys()].map(file => [file, null]));
      return { commit, tracked, staged: staged ?? fresh(), untracked, indexMtimeNs: before.mtimeNs };
    }
    throw new NotTold("git's index changed again and again; try again when no git command runs");
  }

  async #index({ gitDir }: GitPlace): Promise<{ readonly stamp: string; readonly mtimeNs: bigint }> {
    const stat = await this.#outside.fact(budget =>
      this.#outside.look(join(gitDir, "index"), null, budget, (prober, path) => prober.lstat(path), {
        maybeElsewhere: true,
      }),
    );
    if (stat === null) return { stamp: "", mtimeNs: 0n };
    if ("unreachable" in stat) throw new NotTold(stat.unreachable);
    return { stamp: statText(stat), mtimeNs: stat.mtimeNs };
  }

  async #commit(place: GitPlace, allowance: Allowance): Promise<string | null> {
    const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
    const { code, out, errorText } = await this.#git.run(
      [...noReplaceOptions(place), ...args],
      place.worktree,
      allowance,
    );
    if (code === 1) return null;
    if (code !== 0) throw unreadable(errorText);
    return out.trim();
  }

  async #tracked(place: GitPlace, allowance: Allowance): Promise<Map<string, Staged>> {
    const tracked = new Map<string, Staged>();
    let odd: string | null = null;
    const parser = new IndexParser((file, entry) => {
      tracked.set(file, entry);
      if (isOdd(file)) odd ??= file;
    });
    const take: TakeOutput = chunk => {
      if (!parser.push(chunk)) return unknownForm;
      if (odd !== null) return notUtf8(odd);
      return tracked.size <= limits.stateFilesMax
        ? null
        : `the worktree has more than ${limits.stateFilesMax} files`;
    };
    const args = ["ls-files", "-s", "-t", "-z", "--debug"];
    await this.#list(place, args, allowance, take);
    if (!parser.isWhole) throw new NotTold(unknownForm);
    return tracked;
  }

  /** Compares index and commit: git reads trees, and no file of the worktree. */
  async #staged(
    place: GitPlace,
    commit: string,
    allowance: Allowance,
  ): Promise<ReadonlyMap<string, string | null>> {
    const how = ["--cached", "--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none"];
    const { out } = await this.#list(place, ["diff-index", ...how, commit, "--"], allowance);
    const staged = new Map<string, string | null>();
    for (const [, mode = "", oid = "", kind, file = ""] of out.matchAll(changePattern)) {
      // Git says nothing certain of a file in conflict, so the file always counts as changed.
      const isIn = !/^0+$/.test(mode) && kind !== "U";
      staged.set(file, isIn ? `${mode} ${oid}` : null);
    }
    return staged;
  }

  async #untracked(place: GitPlace, allowance: Allowance): Promise<string[]> {
    const args = ["ls-files", "--others", "--exclude-standard", "-z"];
    const { out } = await this.#list(place, args, allowance);
    const files = out.split("\0").filter(file => file !== "");
    const odd = files.find(isOdd);
    if (odd !== undefined) throw new NotTold(notUtf8(odd));
    return files;
  }

  async #list(
    place: GitPlace,
    args: readonly string[],
    allowance: Allowance,
    take: TakeOutput | null = null,
  ): Promise<GitAnswer> {
    const answer = await this.#git.run(
      [...noReplaceOptions(place), ...args],
      place.worktree,
      allowance,
      "",
      take,
    );
    if (answer.code !== 0) throw unreadable(answer.errorText);
    return answer;
  }
}

/** Whether the name as text is not the name that the file has. */
function isOdd(file: string): boolean {
  return file.includes("\ufffd");
}

function notUtf8(file: string): string {
  return `the name of ${file} is not UTF-8; rename the file, or let .gitignore name it`;
}

const unknownForm = "git writes its index in a form that Kite does not know";
const changePattern = /:(\d{6}) \d{6} ([0-9a-f]+) [0-9a-f]+ (\w)\d*\0([^\0]*)\0/g;

function noReplaceOptions({ worktree, gitDir }: GitPlace): string[] {
  // A ref of `git replace` puts other content in place of what an id names.
  return ["--no-replace-objects", `--git-dir=${gitDir}`, `--work-tree=${worktree}`];
}

function unreadable(errorText: string): NotTold {
  return new NotTold(unreachable(errorText).unreachable);
}
