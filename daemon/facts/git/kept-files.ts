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
import { nodeProberHere, type Prober } from "../prober.ts";
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

  readonly #persons = personsFiles();

  constructor(outside: BudgetedFs, git: GitChild) {
    this.#outside = outside;
    this.#git = git;
    this.#commits = new CommitFacts(outside, git);
  }

  /** Whether git ignores the file (its path from the worktree's top). A file in the index it never does. */
  async isIgnored(place: GitPlace, file: string): Promise<boolean | Unreachable> {
    const stamps = await this.#stamps(...ignoreFiles(place, file), ...this.#persons);
    if (typeof stamps !== "string") return stamps;
    const key = [place.gitDir, place.worktree, file].join("\n");
    const now = this.#outside.now();
    const known = this.#notIgnored.get(key);
    if (known !== undefined && known.stamps === stamps && now < known.untilMs) return false;
    this.#notIgnored.delete(key);
    // With the index: what git tracks it does not ignore.
    const args = ["check-ignore", "-z", "--stdin"];
    const { code, errorText } = await this.#run(place, args, `./${file}\0`);
    if (code === 0) return true;
    if (code !== 1) return unreachable(errorText);
    this.#notIgnored.set(key, { stamps, untilMs: now + limits.notIgnoredMs });
    return false;
  }

  /** The commit that is checked out; null before the first one. */
  async head(place: GitPlace): Promise<string | null | Unreachable> {
    const { gitDir } = place;
    const stamps = await this.#stamps({ folder: gitDir, names: ["HEAD", "logs/HEAD", "index"] });
    if (typeof stamps !== "string") return stamps;
    const known = this.#heads.get(gitDir);
    if (known?.stamps === stamps) return known.commit;
    const mark = await this.#commits.mark(place);
    if ("unreachable" in mark) return mark;
    this.#heads.set(gitDir, { stamps, commit: mark.head });
    return mark.head;
  }

  /**
   * Returns the ids of the file's content in the commits in which a command may just have put it. These are the checked-out
   * one, those before it, and the latest stash entry. `head` is the id in the checked-out one.
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
    const candidates = [...revisions, ...before.slice(-limits.committedLooksMax)];
    const names = candidates.map(revision => `${revision}:${file}\n`).join("");
    const { code, out, errorText } = await this.#run(
      place,
      ["cat-file", "--batch-check=%(objectname)"],
      names,
    );
    if (code !== 0) return unreachable(errorText);
    const ids = out.split("\n").map(line => (/^[0-9a-f]{40,64}$/.test(line) ? line : null));
    return { head: ids[0] ?? null, all: ids.filter(id => id !== null) };
  }

  /**
   * Returns the file's content in the checked-out commit. Null: the commit does not have the file, or it has more than
   * `bytesMax`.
   */
  async committed(place: GitPlace, file: string, bytesMax: number): Promise<Buffer | null | Unreachable> {
    const { pieces, take } = piecesUpTo(bytesMax);
    const { code, errorText } = await this.#run(place, ["cat-file", "blob", `HEAD:${file}`], "", take);
    if (code === 0) return Buffer.concat(pieces);
    // Git says so of a file that the commit does not have, and before the first commit.
    return code === null && errorText !== tooLong ? unreachable(errorText) : null;
  }

  /** These contents, each once; null: they are more than `bytesMax` together. */
  async blobs(
    place: GitPlace,
    oids: readonly string[],
    bytesMax: number,
  ): Promise<readonly Buffer[] | null | Unreachable> {
    if (oids.length === 0) return [];
    const { pieces, take } = piecesUpTo(bytesMax);
    const input = [...new Set(oids)].map(oid => `${oid}\n`).join("");
    const { code, errorText } = await this.#run(place, ["cat-file", "--batch"], input, take);
    if (code !== 0) return errorText === tooLong ? null : unreachable(errorText);
    return blobsIn(Buffer.concat(pieces));
  }

  /** Files that the checked-out commit does not have: untracked ones that git does not ignore, and added ones. */
  async newFiles(place: GitPlace): Promise<readonly string[] | Unreachable> {
    const others = await this.#run(place, ["ls-files", "--others", "--exclude-standard", "-z"], "");
    if (others.code !== 0) return unreachable(others.errorText);
    const how = ["--cached", "--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none"];
    const index = await this.#run(place, ["diff-index", ...how, "HEAD", "--"], "");
    // Before the first commit there is nothing to compare with.
    const added = index.code === 0 ? [...index.out.matchAll(/ A\0([^\0]+)\0/g)] : [];
    return [...others.out.split("\0").filter(file => file !== ""), ...added.map(([, file = ""]) => file)];
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

  /** The stamps of these files as one text: one question for each folder, since each costs more than a stat. */
  #stamps(...groups: readonly Files[]): Promise<string | Unreachable> {
    return this.#outside.fact(async budget => {
      const stamps: (string | null)[] = [];
      for (const { folder, names } of groups) {
        const probe = (prober: Prober) => Promise.all(names.map(name => stampAt(prober, join(folder, name))));
        const way = { maybeElsewhere: true };
        stamps.push(...((await this.#outside.look(folder, null, budget, probe, way)) ?? []));
      }
      return stamps.join(" ");
    });
  }
}

const revisions = ["HEAD", "ORIG_HEAD", "refs/stash", "refs/stash^3"] as const;

/** What `git cat-file --batch` printed. */
function blobsIn(out: Buffer): readonly Buffer[] {
  const blobs: Buffer[] = [];
  for (let at = 0; at < out.length; ) {
    const end = out.indexOf("\n", at);
    const [, size] = /^[0-9a-f]+ blob (\d+)$/.exec(out.toString("latin1", at, end)) ?? [];
    at = end + 1;
    // A content that is not there has only a line.
    if (size === undefined) continue;
    blobs.push(out.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return blobs;
}

const tooLong = "it is longer than what is read of it";

/** Takes what git prints piece by piece, and stops git after the piece that makes it more than `bytesMax`. */
function piecesUpTo(bytesMax: number): { readonly pieces: readonly Buffer[]; readonly take: TakeOutput } {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  const take: TakeOutput = piece => {
    pieces.push(piece);
    sizeBytes += piece.length;
    return sizeBytes > bytesMax ? tooLong : null;
  };
  return { pieces, take };
}

/** Some files below a folder, on its filesystem as a rule. */
interface Files {
  readonly folder: string;
  readonly names: readonly string[];
}

/** The file's stamp; null if it does not exist. */
async function stampAt(prober: Prober, path: string): Promise<string | null> {
  // Most of the files that could say something are not there, and an error costs ten times as much as a stat.
  if (prober === nodeProberHere) return stampOf(nodeProberHere.lstatNow(path)).stamp;
  try {
    return stampOf(await prober.lstat(path)).stamp;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** The files that say whether git ignores a file; a person's own list may be elsewhere, too, and is read anew after a while. */
function ignoreFiles({ worktree, gitDir }: GitPlace, file: string): Files[] {
  const names = [".gitignore"];
  for (let at = dirname(file); at !== "." && at !== "/"; at = dirname(at)) names.push(`${at}/.gitignore`);
  const own = ["index", "info/exclude", "config"];
  // A linked worktree has its own directory in that of the repository.
  const shared = gitDir.includes("/worktrees/") ? ["../../info/exclude", "../../config"] : [];
  return [
    { folder: worktree, names },
    { folder: gitDir, names: [...own, ...shared] },
  ];
}

/** A person's own settings of git and list of ignored files. */
function personsFiles(): readonly Files[] {
  const xdg = process.env["XDG_CONFIG_HOME"];
  return [
    { folder: homedir(), names: [".gitconfig", ".config/git/ignore", ".config/git/config"] },
    ...(xdg ? [{ folder: xdg, names: ["git/ignore", "git/config"] }] : []),
  ];
}
