/** Which files a git command would change that puts other commits into a working tree. */
import { join } from "node:path";
import type { TreeChange } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import { type GitAnswer, GitChild, type GitPlace } from "./git-process.ts";
import { Allowance } from "./work-clock.ts";

/** What a command may touch of the files that were asked about. */
export interface Changed {
  /** Files that differ, relative to the worktree; a name may also stand for a file in place of their folder. */
  readonly names: readonly string[];
  /** Words that name paths, as they were given. */
  readonly paths: readonly string[];
  /** What is uncommitted and lost, whatever differs. */
  readonly loses: TreeChange["loses"];
}

const nothing: Changed = { names: [], paths: [], loses: "nothing" };
const all: Changed = { ...nothing, loses: "all" };

/** What a command may touch of which nothing is known. */
export function everythingOf(files: readonly string[]): Changed {
  return { names: files, paths: [], loses: "tracked" };
}

/** One look: where, about which files, and what it may spend. */
interface Look {
  readonly place: GitPlace;
  readonly files: readonly string[];
  readonly allowance: Allowance;
}

/** Git did not answer: thrown within a look, told at its end. */
class NotAnswered extends Error {}

/**
 * Asks git for the difference of commits: it reads trees, and no file of the working tree. What is fetched by the command
 * itself is not known, nor is where an earlier command of its line leads: there git's own refusal to overwrite
 * uncommitted work is all that guards.
 */
export class ChangeFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;

  constructor(outside: BudgetedFs, git: GitChild = new GitChild()) {
    this.#outside = outside;
    this.#git = git;
  }

  /** `files` are relative to the worktree; a folder stands for all in it, "" for everything. */
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
    // What begins with a dash is an option to git, wherever it stands.
    if (revisions.some(revision => revision.startsWith("-"))) return everythingOf(look.files);
    if (revisions.length === 0) return { ...nothing, loses };
    if (change.by === "commits") return { ...nothing, loses, names: await this.#picked(look, revisions) };
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
    // What git cannot read stops the command itself.
    if (code !== 0) return false;
    // Of several the last one counts.
    const values = new Map<string, string>();
    for (const [, key = "", value = ""] of out.matchAll(/^(\S+) (\S+)$/gm)) values.set(key, value);
    return [...values.values()].includes("true");
  }

  /** The difference from HEAD to a revision; nothing where there is none: git refuses the command then. */
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

  /** Which of the files a revision has, each under its own name or that of a file in place of a folder around it. */
  async #files(look: Look, { orPath }: TreeChange, revision: string): Promise<readonly string[]> {
    const known = await this.#object(look, `${revision}^{tree}`);
    const found = known ?? (orPath ? await this.#remoteBranch(look, revision) : null);
    if (found === null) return [];
    const asked = look.files.includes("") ? [] : look.files;
    const args = ["-r", "-z", "--name-only", "--full-tree", found, "--", ...asked];
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

  /** A branch of one remote alone is what a name means that is no branch here. */
  async #remoteBranch(look: Look, name: string): Promise<string | null> {
    if (!/^\w[\w./+@-]*$/.test(name)) return null;
    const args = ["for-each-ref", "--format=%(objectname)", "--count=2", `refs/remotes/*/${name}`];
    const { code, out } = await this.#run(look, args);
    const found = code === 0 ? out.split("\n").filter(line => line !== "") : [];
    return found.length === 1 ? (found[0] ?? null) : null;
  }

  /** Where both have been one last; null where they never were. */
  async #parting(look: Look, head: string, commit: string): Promise<string | null> {
    const { code, out } = await this.#run(look, ["merge-base", head, commit]);
    return code === 0 ? out.trim() : null;
  }

  /** What commits, or ranges of them, changed. */
  async #picked(look: Look, revisions: readonly string[]): Promise<readonly string[]> {
    const max = limits.changeCommitsMax;
    // In this order: a bound that comes later would make it walk.
    const args = ["rev-list", `--max-count=${max + 1}`, "--no-walk=unsorted", ...revisions, "--"];
    const { code, out } = await this.#run(look, args);
    // Without such commits git refuses the command.
    if (code !== 0) return [];
    const commits = out.split("\n").filter(line => line !== "");
    if (commits.length > max) throw new NotAnswered(`more than ${max} commits were not looked at`);
    const given = ["--stdin", "-m", "--root", "--no-commit-id"];
    const [names, above] = await Promise.all([
      this.#names(look, given, `${commits.join("\n")}\n`),
      this.#pickedInPlace(look, commits),
    ]);
    return [...names, ...above];
  }

  /** Folders around the files in whose place one of the commits, or the one before it, has a file. */
  async #pickedInPlace(look: Look, commits: readonly string[]): Promise<readonly string[]> {
    // Git takes a name for each line.
    const folders = foldersOf(look).filter(folder => !folder.includes("\n"));
    if (folders.length === 0) return [];
    const asked = commits
      .flatMap(commit => [commit, `${commit}^`])
      .flatMap(at => folders.map(f => `${at}:${f}`));
    const check = ["cat-file", "--batch-check=%(objecttype)"];
    const types = outOf(await this.#run(look, check, `${asked.join("\n")}\n`)).split("\n");
    return folders.filter((_, i) => types.some((type, n) => type === "blob" && n % folders.length === i));
  }

  async #names(look: Look, args: readonly string[], input = ""): Promise<readonly string[]> {
    const plain = ["-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"];
    const asked = look.files.includes("") ? [] : look.files;
    const all = ["--literal-pathspecs", "diff-tree", ...plain, ...args, "--", ...asked];
    return namesIn(await this.#run(look, all, input));
  }

  /** Folders around the files in whose place the commit has a file: those would go with all that is in them. */
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
      throw new NotAnswered(answer.said.trim().split("\n")[0] || "git did not answer");
    return answer;
  }
}

function outOf({ code, out, said }: GitAnswer): string {
  if (code !== 0) throw new NotAnswered(said.trim().split("\n")[0] || "git did not answer");
  return out;
}

function namesIn(answer: GitAnswer): readonly string[] {
  return outOf(answer)
    .split("\0")
    .filter(name => name !== "");
}

/** The tree without files has the same name everywhere, in each of git's two kinds of names. */
function emptyTree(like: string | null): string {
  return like?.length === 64
    ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}

function foldersOf({ files }: Look): readonly string[] {
  return [...new Set(files.flatMap(above))];
}

function above(file: string): readonly string[] {
  const names = file.split("/").slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join("/"));
}
