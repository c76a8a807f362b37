/**
 * What git says of single files whose versions are kept: whether it ignores them, which commit is checked out, what is
 * committed. An answer counts as long as the files that decide it are as they were, so that an edit costs no git process.
 */
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { stampOf } from "../paths.ts";
import { Allowance } from "../work-clock.ts";
import { CommitFacts } from "./commits.ts";
import { type GitAnswer, type GitChild, type GitPlace, type TakeOutput, unreachable } from "./process.ts";

interface NotIgnored {
  readonly stamps: string;
  readonly untilMs: number;
}

interface Head {
  readonly stamps: string;
  readonly commit: string | null;
}

export class KeptFileFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitChild;
  readonly #commits: CommitFacts;
  readonly #notIgnored = new BoundedMap<string, NotIgnored>({ entriesMax: limits.notIgnoredMax });
  readonly #heads = new BoundedMap<string, Head>({ entriesMax: limits.headsMax });

  constructor(outside: BudgetedFs, git: GitChild) {
    this.#outside = outside;
    this.#git = git;
    this.#commits = new CommitFacts(outside, git);
  }

  /** Whether git ignores the file (its path from the worktree's top). A file in the index it never does. */
  async isIgnored(place: GitPlace, file: string): Promise<boolean | Unreachable> {
    const stamps = await this.#stamps(ignoreFiles(place, file));
    if (typeof stamps !== "string") return stamps;
    const key = [place.gitDir, place.worktree, file].join("\n");
    const now = this.#outside.now();
    const known = this.#notIgnored.get(key);
    if (known !== undefined && known.stamps === stamps && now < known.untilMs) return false;
    this.#notIgnored.delete(key);
    // With the index: what git tracks it does not ignore.
    const args = ["check-ignore", "-z", "--stdin"];
    const { code, said } = await this.#run(place, args, `./${file}\0`);
    if (code === 0) return true;
    if (code !== 1) return unreachable(said);
    this.#notIgnored.set(key, { stamps, untilMs: now + limits.notIgnoredMs });
    return false;
  }

  /** The commit that is checked out; null before the first one. */
  async head(place: GitPlace): Promise<string | null | Unreachable> {
    const { gitDir } = place;
    const stamps = await this.#stamps(["HEAD", "logs/HEAD", "index"].map(name => join(gitDir, name)));
    if (typeof stamps !== "string") return stamps;
    const known = this.#heads.get(gitDir);
    if (known?.stamps === stamps) return known.commit;
    const mark = await this.#commits.mark(place);
    if ("unreachable" in mark) return mark;
    this.#heads.set(gitDir, { stamps, commit: mark.head });
    return mark.head;
  }

  /**
   * The ids of the file's content in the commits in which a command may just have put it: the checked-out one, those before
   * it, the latest stash entry. `head` is that of the checked-out one.
   */
  async committedAs(
    place: GitPlace,
    file: string,
  ): Promise<{ readonly head: string | null; readonly all: readonly string[] } | Unreachable> {
    // Git reads one name a line.
    if (file.includes("\n")) return { head: null, all: [] };
    const log = await this.#outside.fact(budget =>
      this.#outside.look(join(place.gitDir, "logs", "HEAD"), null, budget, (prober, path) =>
        prober.tail(path, limits.smallFileBytes),
      ),
    );
    if (log !== null && "unreachable" in log) return log;
    const before = [...(log?.text ?? "").matchAll(/^[0-9a-f]+ ([0-9a-f]{40,64}) /gm)].map(
      ([, id = ""]) => id,
    );
    const asked = [...revisions, ...before.slice(-limits.committedLooksMax)];
    const names = asked.map(revision => `${revision}:${file}\n`).join("");
    const { code, out, said } = await this.#run(place, ["cat-file", "--batch-check=%(objectname)"], names);
    if (code !== 0) return unreachable(said);
    const ids = out.split("\n").map(line => (/^[0-9a-f]{40,64}$/.test(line) ? line : null));
    return { head: ids[0] ?? null, all: ids.filter(id => id !== null) };
  }

  /** What the checked-out commit has of the file, at most `bytesMax`; null: nothing, or more. */
  async committed(place: GitPlace, file: string, bytesMax: number): Promise<Buffer | null | Unreachable> {
    const pieces: Buffer[] = [];
    let size = 0;
    const take = (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      return size > bytesMax ? tooLong : null;
    };
    const { code, said } = await this.#run(place, ["cat-file", "blob", `HEAD:${file}`], "", take);
    if (code === 0) return Buffer.concat(pieces);
    // Git says so of a file that the commit does not have, and before the first commit.
    return code === null && said !== tooLong ? unreachable(said) : null;
  }

  #run(
    { worktree, gitDir }: GitPlace,
    args: readonly string[],
    input: string,
    take: TakeOutput | null = null,
  ): Promise<GitAnswer> {
    const at = ["--no-replace-objects", `--git-dir=${gitDir}`, `--work-tree=${worktree}`];
    const allowance = new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs);
    return this.#git.run([...at, ...args], worktree, allowance, input, take);
  }

  /** The stamps of these files as one text. */
  #stamps(paths: readonly string[]): Promise<string | Unreachable> {
    return this.#outside.fact(async budget => {
      const stamps: (string | null)[] = [];
      for (const path of paths) {
        const stat = await this.#outside.look(path, null, budget, (prober, p) => prober.lstat(p), {
          maybeElsewhere: true,
        });
        stamps.push(stampOf(stat).stamp);
      }
      return stamps.join(" ");
    });
  }
}

const revisions = ["HEAD", "ORIG_HEAD", "refs/stash", "refs/stash^3"] as const;

const tooLong = "it is longer than what is read of it";

/** The files that say whether git ignores a file; a person's own list may be elsewhere, too, and is read anew after a while. */
function ignoreFiles({ worktree, gitDir }: GitPlace, file: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(file); at !== "." && at !== "/"; at = dirname(at)) folders.push(join(worktree, at));
  const xdg = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return [
    ...[worktree, ...folders].map(folder => join(folder, ".gitignore")),
    ...["index", "info/exclude", "config", "commondir"].map(name => join(gitDir, name)),
    ...[join(gitDir, "..", "..", "info", "exclude"), join(gitDir, "..", "..", "config")],
    ...[join(xdg, "git", "ignore"), join(xdg, "git", "config"), join(homedir(), ".gitconfig")],
  ];
}
