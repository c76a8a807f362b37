/** What git lists of a whole worktree: its commit, its index, and the files that git does not track. */
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs } from "../filesystem.ts";
import type { Allowance } from "../work-clock.ts";
import { IndexParser, type Staged, statText } from "./index.ts";
import { type GitAnswer, type GitChild, type GitPlace, type TakeOutput, unreachable } from "./process.ts";

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
    const { code, out, said } = await this.#git.run([...at(place), ...args], place.worktree, allowance);
    if (code === 1) return null;
    if (code !== 0) throw notTold(said);
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
      // Of a file in conflict git says nothing certain: it always counts as changed.
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
    const answer = await this.#git.run([...at(place), ...args], place.worktree, allowance, "", take);
    if (answer.code !== 0) throw notTold(answer.said);
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

function at({ worktree, gitDir }: GitPlace): string[] {
  // A ref of `git replace` puts other content in place of what an id names.
  return ["--no-replace-objects", `--git-dir=${gitDir}`, `--work-tree=${worktree}`];
}

function notTold(said: string): NotTold {
  return new NotTold(unreachable(said).unreachable);
}
