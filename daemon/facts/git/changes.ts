/** Which files a git command would change that puts other commits into a working tree. */

import { join } from "node:path";
import type { TreeChange } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { Allowance } from "../work-clock.ts";
import { emptyTree, type GitAnswer, GitChild, type GitPlace, unreachable } from "./process.ts";

/** Which of the given files a command may change. */
export interface Changed {
  /** Files that differ, relative to the worktree; a name may also be that of a file that replaces their folder. */
  readonly names: readonly string[];
  /** Arguments that name paths, as given. */
  readonly paths: readonly string[];
  /** Uncommitted work that the command loses, even in files that do not differ. */
  readonly loses: TreeChange["loses"];
}

const nothing: Changed = { names: [], paths: [], loses: "nothing" };
const all: Changed = { ...nothing, loses: "all" };

/** The answer when git tells nothing: the command may change every file. */
export function everythingOf(files: readonly string[]): Changed {
  return { names: files, paths: [], loses: "tracked" };
}

/** One query: the place, the files and its budget. */
interface Look {
  readonly place: GitPlace;
  readonly files: readonly string[];
  readonly allowance: Allowance;
}

/** Git did not answer: thrown within a query, reported at its end. */
class NotAnswered extends Error {}

/**
 * Asks git for the difference of commits: git reads trees, and no file of the working tree. It does not know commits that
 * the command itself fetches, nor where an earlier command of its line leads. In those cases only git's own refusal to
 * overwrite uncommitted work protects it.
 */
export class ChangeFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;

  constructor(outside: BudgetedFs, git: GitChild = new GitChild()) {
    this.#outside = outside;
    this.#git = git;
  }

  /** `files` are relative to the worktree; a folder stands for all files in it, "" for everything. */
  async look(
    place: GitPlace,
    change: TreeChange,
    files: readonly string[],
    allowance = new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs),
  ): Promise<Changed | Unreachable> {
    try {
      return await this.#look({ place, files, allowance }, change);
    } catch (error) {
      if (error instanceof NotAnswered) return { unreachable: error.message };
      throw error;
    }
  }

  async #look(look: Look, change: TreeChange): Promise<Changed> {
    const { during, stashes, revisions } = change;
    if (during.length > 0 && !(await this.#isThere(look, during))) return nothing;
    if (change.loses === "all") return all;
    const loses = (await this.#isSet(look, stashes)) ? "tracked" : change.loses;
    // Git takes an argument that begins with a dash for an option, at any position.
    if (revisions.some(revision => revision.startsWith("-"))) return everythingOf(look.files);
    if (revisions.length === 0) return { ...nothing, loses };
    if (change.by === "commits") return { ...nothing, loses, names: await this.#picked(look, change) };
    if (change.by === "files") {
      const files = await Promise.all(revisions.map(revision => this.#files(look, change, revision)));
      return { ...nothing, loses, names: files.flat() };
    }
    const head = await this.#commit(look, "HEAD");
    const changes = await Promise.all(revisions.map(revision => this.#differs(look, change, head, revision)));
    return {
      names: changes.flatMap(({ names }) => names),
      paths: changes.flatMap(({ paths }) => paths),
      loses,
    };
  }

  async #isThere({ place }: Look, names: readonly string[]): Promise<boolean> {
    for (const name of names) {
      const stat = await this.#outside.fact(budget =>
        this.#outside.look(join(place.gitDir, name), null, budget, (prober, path) => prober.lstat(path)),
      );
      if (stat !== null && "unreachable" in stat) throw new NotAnswered(stat.unreachable);
      if (stat !== null) return true;
    }
    return false;
  }

  async #isSet(look: Look, keys: readonly string[]): Promise<boolean> {
    if (keys.length === 0) return false;
    const pattern = `^(${keys.map(key => key.replaceAll(".", "\\.")).join("|")})$`;
    const { code, out } = await this.#run(look, ["config", "--type=bool", "--get-regexp", pattern]);
    // A setting that git cannot read stops the command itself.
    if (code !== 0) return false;
    // If a setting occurs several times, git takes the last one.
    const values = new Map<string, string>();
    for (const [, key = "", value = ""] of out.matchAll(/^(\S+) (\S+)$/gm)) values.set(key, value);
    return [...values.values()].includes("true");
  }

  /** Returns the files that differ from HEAD in a revision; none if it does not exist: git refuses the command then. */
  async #differs(
    look: Look,
    { by, orPath }: TreeChange,
    head: string | null,
    revision: string,
  ): Promise<Changed> {
    const known = revision === "" ? emptyTree(head) : await this.#commit(look, revision);
    const commit = known ?? (orPath ? await this.#remoteBranch(look, revision) : null);
    const paths = known === null && orPath ? [revision] : [];
    if (commit === null) return { ...nothing, paths };
    const parted = by === "merge" && head !== null ? await this.#parting(look, head, commit) : null;
    const from = parted ?? head ?? emptyTree(commit);
    const [names, above] = await Promise.all([
      this.#names(look, [from, commit]),
      revision === "" ? [] : this.#inPlaceOfFolders(look, commit),
    ]);
    return { ...nothing, names: [...names, ...above], paths };
  }

  /** Returns which files a revision has, by their own name or that of a file in place of a parent folder. */
  async #files(look: Look, { orPath }: TreeChange, revision: string): Promise<readonly string[]> {
    const known = await this.#object(look, `${revision}^{tree}`);
    const found = known ?? (orPath ? await this.#remoteBranch(look, revision) : null);
    if (found === null) return [];
    const paths = look.files.includes("") ? [] : look.files;
    const args = ["-r", "-z", "--name-only", "--full-tree", found, "--", ...paths];
    const [names, above] = await Promise.all([
      this.#run(look, ["--literal-pathspecs", "ls-tree", ...args]),
      this.#inPlaceOfFolders(look, found),
    ]);
    return [...namesIn(names), ...above];
  }

  #commit(look: Look, revision: string): Promise<string | null> {
    return this.#object(look, `${revision}^{commit}`);
  }

  async #object(look: Look, name: string): Promise<string | null> {
    const { code, out } = await this.#run(look, ["rev-parse", "--verify", "--quiet", name]);
    return code === 0 ? out.trim() : null;
  }

  /** A name that is no local branch stands for a remote branch, if only one remote has it. */
  async #remoteBranch(look: Look, name: string): Promise<string | null> {
    if (!/^\w[\w./+@-]*$/.test(name)) return null;
    const args = ["for-each-ref", "--format=%(objectname)", "--count=2", `refs/remotes/*/${name}`];
    const { code, out } = await this.#run(look, args);
    const found = code === 0 ? out.split("\n").filter(line => line !== "") : [];
    return found.length === 1 ? (found[0] ?? null) : null;
  }

  /** Returns the merge base of both commits; null if they have none. */
  async #parting(look: Look, head: string, commit: string): Promise<string | null> {
    const { code, out } = await this.#run(look, ["merge-base", head, commit]);
    return code === 0 ? out.trim() : null;
  }

  /** Returns the files that commits, or ranges of commits, changed. */
  async #picked(look: Look, { revisions, mainline }: TreeChange): Promise<readonly string[]> {
    const max = limits.changeCommitsMax;
    // The order matters: a later bound would make git walk the history.
    const args = [
      "rev-list",
      `--max-count=${max + 1}`,
      "--parents",
      "--no-walk=unsorted",
      ...revisions,
      "--",
    ];
    const { code, out } = await this.#run(look, args);
    // Git refuses the command if the commits do not exist.
    if (code !== 0) return [];
    const found = out.split("\n").filter(line => line !== "");
    const commits = found.map(line => line.split(" ", 1).join(""));
    if (commits.length > max) throw new NotAnswered(`more than ${max} commits are too many to check`);
    const options = ["--stdin", "-m", "--root", "--no-commit-id"];
    const lines = mainline === undefined ? commits : found.map(line => withParent(line, mainline));
    const [names, above] = await Promise.all([
      this.#names(look, options, `${lines.join("\n")}\n`),
      this.#pickedInPlace(look, commits),
    ]);
    return [...names, ...above];
  }

  /** Returns the parent folders of the files that one of the commits, or its parent, has as a file. */
  async #pickedInPlace(look: Look, commits: readonly string[]): Promise<readonly string[]> {
    // Git reads one name a line.
    const folders = foldersOf(look).filter(folder => !folder.includes("\n"));
    if (folders.length === 0) return [];
    const revisions = commits
      .flatMap(commit => [commit, `${commit}^`])
      .flatMap(at => folders.map(f => `${at}:${f}`));
    const check = ["cat-file", "--batch-check=%(objecttype)"];
    const types = outOf(await this.#run(look, check, `${revisions.join("\n")}\n`)).split("\n");
    return folders.filter((_, i) => types.some((type, n) => type === "blob" && n % folders.length === i));
  }

  async #names(look: Look, args: readonly string[], input = ""): Promise<readonly string[]> {
    const plain = ["-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"];
    const paths = look.files.includes("") ? [] : look.files;
    const all = ["--literal-pathspecs", "diff-tree", ...plain, ...args, "--", ...paths];
    return namesIn(await this.#run(look, all, input));
  }

  /** Returns the parent folders of the files that the commit has as a file: git would delete their content. */
  async #inPlaceOfFolders(look: Look, commit: string): Promise<readonly string[]> {
    const folders = foldersOf(look);
    if (folders.length === 0) return [];
    const args = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", ...folders];
    const entries = namesIn(await this.#run(look, args));
    return entries.flatMap(entry => /^\d+ (?:blob|commit) \w+\t(.*)$/s.exec(entry)?.[1] ?? []);
  }

  async #run({ place, allowance }: Look, args: readonly string[], input = ""): Promise<GitAnswer> {
    const at = [`--git-dir=${place.gitDir}`, `--work-tree=${place.worktree}`];
    const answer = await this.#git.run([...at, ...args], place.worktree, allowance, input);
    if (answer.code === null)
      throw new NotAnswered(answer.errorText.trim().split("\n")[0] || "git did not answer");
    return answer;
  }
}

/** A commit with one of its parents, as `diff-tree` reads it; the commit alone if it has no such parent. */
function withParent(line: string, mainline: number): string {
  const [commit = "", ...parents] = line.split(" ");
  return [commit, parents[mainline - 1] ?? parents[0]].filter(id => id !== undefined).join(" ");
}

function outOf({ code, out, errorText }: GitAnswer): string {
  if (code !== 0) throw new NotAnswered(errorText.trim().split("\n")[0] || "git did not answer");
  return out;
}

function namesIn(answer: GitAnswer): readonly string[] {
  return outOf(answer)
    .split("\0")
    .filter(name => name !== "");
}

function foldersOf({ files }: Look): readonly string[] {
  return [...new Set(files.flatMap(above))];
}

function above(file: string): readonly string[] {
  const names = file.split("/").slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join("/"));
}

// The files that differ between two commits, with their content.

/** The files in which two commits differ, by name, as each commit has them: `mode oid`, or that the file is not there. */
export type CommitDiff = ReadonlyMap<string, readonly [string, string]>;

/** Compares the trees of two commits, by their ids; null: none. Git reads no file of the worktree, and runs no program. */
export async function commitDiff(
  { clock }: Pick<BudgetedFs, "clock">,
  git: GitChild,
  { worktree, gitDir }: GitPlace,
  [from, to]: readonly [string | null, string | null],
): Promise<CommitDiff | Unreachable> {
  if (from === to) return new Map();
  const trees = [from ?? emptyTree(to), to ?? emptyTree(from)];
  const allowance = new Allowance(clock, limits.stateMs, limits.stateTimeMs);
  const plain = ["-r", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];
  const at = ["--no-replace-objects", `--git-dir=${gitDir}`, `--work-tree=${worktree}`];
  const { code, out, errorText } = await git.run(
    [...at, "diff-tree", ...plain, ...trees, "--"],
    worktree,
    allowance,
  );
  if (code !== 0) return unreachable(errorText);
  const found = new Map<string, readonly [string, string]>();
  for (const [, mode = "", newMode = "", oid = "", newOid = "", file = ""] of out.matchAll(line))
    found.set(file, [entry(mode, oid), entry(newMode, newOid)]);
  return found;
}

const line = /:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) \w\d*\0([^\0]*)\0/g;

function entry(mode: string, oid: string): string {
  return /^0+$/.test(mode) ? gone : `${mode} ${oid}`;
}

/** As a worktree's state calls a file that is not there. */
const gone = "gone";
