/**
 * Where HEAD of a worktree is, and which operation is in progress there: read from the files of the git directory, without a
 * program. Where git keeps its refs in another form, its reading plumbing says it. What cannot be read is unreachable.
 */

import { type BigIntStats, constants } from "node:fs";
import { open } from "node:fs/promises";
import type { HeadPlace, OperationKind } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Budget, BudgetedFs, Unreachable } from "../filesystem.ts";
import type { GitFacts } from "../repositories.ts";
import { Allowance } from "../work-clock.ts";
import { type GitAnswer, GitChild, type GitPlace, unreachable } from "./process.ts";

/** A revision as git finds it. */
export interface FoundRevision {
  readonly commit: string;
  /** The full name of its ref; null: it has none, as an id has. */
  readonly ref: string | null;
}

/** The files of a git directory that tell an operation in progress, and what tells its branch. */
const signs = [
  "rebase-merge",
  "rebase-apply",
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "sequencer",
  "BISECT_LOG",
  "HEAD",
] as const;

interface Latest {
  readonly place: HeadPlace;
  readonly until: number;
}

interface Kept {
  readonly text: string;
  readonly refFile: string | null;
  readonly place: HeadPlace;
}

export class HeadFacts {
  readonly #outside: BudgetedFs;
  readonly #git: GitFacts;
  readonly #child: GitChild;
  /** By git directory: what was read last, while the stats are the same. */
  readonly #kept = new BoundedMap<string, Kept>({ entriesMax: limits.repositoriesMax });
  /** By worktree, for lists. */
  readonly #latest = new BoundedMap<string, Latest>({ entriesMax: limits.repositoriesMax });

  constructor(outside: BudgetedFs, git: GitFacts, child: GitChild = new GitChild()) {
    this.#outside = outside;
    this.#git = git;
    this.#child = child;
  }

  /** Returns where HEAD of a worktree was at a look a moment ago; undefined: nobody looked. */
  latest(worktree: string): HeadPlace | undefined {
    const known = this.#latest.get(worktree);
    return known === undefined || known.until < this.#outside.now() ? undefined : known.place;
  }

  /** Returns where HEAD is now: three stats if nothing changed since the last look. */
  async now(place: GitPlace): Promise<HeadPlace | Unreachable> {
    const found = await this.#now(place);
    const until = this.#outside.now() + limits.headShownMs;
    if (!("unreachable" in found)) this.#latest.set(place.worktree, { place: found, until });
    return found;
  }

  async #now(place: GitPlace): Promise<HeadPlace | Unreachable> {
    const { gitDir } = place;
    const known = this.#kept.get(gitDir);
    const stats = known === undefined ? null : await this.#stats(gitDir, known.refFile);
    if (known !== undefined && stats !== null && stats.text === known.text) return known.place;
    const common = await this.#git.commonDirOf(gitDir);
    if (typeof common !== "string") return common;
    const before = await this.#stats(gitDir, null);
    const found = await this.#look(place, common);
    const { ref = null } = "unreachable" in found ? {} : found;
    if ("unreachable" in found || before === null) return found;
    const tables = `${common}/reftable/tables.list`;
    const isInTables = gitDir === common && (await this.#stats(gitDir, tables))?.hasRef === true;
    const refFile = isInTables ? tables : ref === null ? null : `${common}/${ref}`;
    const after = await this.#stats(gitDir, refFile);
    // What changed a moment ago may change again under the same time.
    const isSettled =
      after !== null && after.own === before.own && after.latestMs + limits.headSettledMs < Date.now();
    if (isSettled && after.hasRef) this.#kept.set(gitDir, { text: after.text, refFile, place: found });
    else this.#kept.delete(gitDir);
    return found;
  }

  /** The stats of the git directory, of HEAD and of the file of its ref, as a text; null: they cannot be told. */
  async #stats(gitDir: string, refFile: string | null) {
    const files = [gitDir, `${gitDir}/HEAD`, ...(refFile === null ? [] : [refFile])];
    const stats = await this.#outside.fact(async budget => {
      const all: (BigIntStats | null)[] = [];
      for (const file of files)
        all.push(await this.#outside.look(file, null, budget, (prober, path) => prober.lstat(path)));
      return all;
    });
    if ("unreachable" in stats) return null;
    const texts = stats.map(stat => (stat === null ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`));
    const latestMs = Math.max(...stats.map(stat => Number(stat?.mtimeMs ?? 0)));
    const own = texts.slice(0, 2).join(" ");
    return { text: texts.join(" "), own, latestMs, hasRef: texts.every(text => text !== "") };
  }

  async #look({ gitDir, worktree }: GitPlace, common: string): Promise<HeadPlace | Unreachable> {
    const found = await this.#outside.fact(async budget => {
      const operation = await this.#operation(gitDir, budget);
      const head = await this.#headText(gitDir, budget);
      if (head === null) return this.#outside.noAnswer(`${gitDir}/HEAD cannot be read`);
      if (/^[\da-f]{40,64}$/.test(head)) return { ref: null, commit: head, ...operation };
      const ref = /^ref:\s*(refs\/.+)$/.exec(head)?.[1] ?? null;
      if (ref === null || ref.includes("..")) return this.#outside.noAnswer(`${gitDir}/HEAD is no HEAD`);
      if (ref === "refs/heads/.invalid") return { ref, commit: "", ...operation };
      return { ref, commit: await this.#commitOf(common, ref, budget), ...operation };
    });
    if ("unreachable" in found || found.commit !== "") return found;
    return this.#askGit({ gitDir, worktree }, found);
  }

  /** Whether HEAD only added commits to the old one, or amended them: its log says so, else git of the commits. */
  async isAhead(place: GitPlace, from: string | null, to: string | null): Promise<boolean | Unreachable> {
    if (from === to || from === null) return true;
    if (to === null) return false;
    const log = await this.#outside.fact(budget =>
      this.#outside.look(`${place.gitDir}/logs/HEAD`, null, budget, (_prober, path) => tailOf(path)),
    );
    return typeof log === "string" && onlyAdded(log, from, to) ? true : this.isAncestor(place, from, to);
  }

  /** Whether a commit is the other one, or among its ancestors. */
  async isAncestor(place: GitPlace, from: string | null, to: string | null): Promise<boolean | Unreachable> {
    if (from === to || from === null) return true;
    if (to === null) return false;
    const { code, errorText } = await this.#run(place, ["merge-base", "--is-ancestor", from, to]);
    return code === 0 || code === 1 ? code === 0 : unreachable(errorText);
  }

  /** Returns the commit and the ref that a revision names; null: git finds none. */
  async revision(place: GitPlace, name: string): Promise<FoundRevision | null | Unreachable> {
    if (name.startsWith("-")) return null;
    const at = await this.#run(place, ["rev-parse", "--verify", "--quiet", `${name}^{commit}`]);
    if (at.code === null) return unreachable(at.errorText);
    if (at.code !== 0) return null;
    const full = await this.#run(place, ["rev-parse", "--verify", "--quiet", "--symbolic-full-name", name]);
    const ref = full.code === 0 ? full.out.trim() : "";
    return { commit: at.out.trim(), ref: ref.startsWith("refs/") ? ref : null };
  }

  /** The remote-tracking branches of this short name: `git switch NAME` makes a branch of the only one. */
  async remoteBranches(place: GitPlace, name: string): Promise<readonly string[] | Unreachable> {
    if (/[*?[\]\\]|^-/.test(name)) return [];
    const { code, out, errorText } = await this.#run(place, [
      "for-each-ref",
      "--format=%(refname)",
      `refs/remotes/*/${name}`,
    ]);
    return code === 0 ? out.split("\n").filter(line => line !== "") : unreachable(errorText);
  }

  /** The value of a setting of the repository; null: it has none. */
  async setting(place: GitPlace, key: string): Promise<string | null | Unreachable> {
    const { code, out, errorText } = await this.#run(place, ["config", "--get", key]);
    if (code === 1) return null;
    return code === 0 ? out.trim() : unreachable(errorText);
  }

  /** Returns the worktree, other than this one, that has the branch of this full name checked out; null: none has. */
  async worktreeOn({ gitDir }: GitPlace, ref: string): Promise<string | null | Unreachable> {
    const common = await this.#git.commonDirOf(gitDir);
    if (typeof common !== "string") return common;
    return this.#outside.fact(async budget => {
      const folder = `${common}/worktrees`;
      const names = await this.#outside.look(folder, null, budget, (prober, path) =>
        prober.names(path, limits.worktreesReadMax),
      );
      for (const name of names ?? []) {
        const at = `${folder}/${name}`;
        if (at === gitDir || (await this.#headText(at, budget)) !== `ref: ${ref}`) continue;
        const dotGit = (await this.#read(`${at}/gitdir`, budget))?.trim() ?? "";
        if (dotGit.endsWith("/.git")) return dotGit.slice(0, -"/.git".length);
      }
      const isMain = common !== gitDir && (await this.#headText(common, budget)) === `ref: ${ref}`;
      return isMain && common.endsWith("/.git") ? common.slice(0, -"/.git".length) : null;
    });
  }

  async #operation(gitDir: string, budget: Budget): Promise<Pick<HeadPlace, "operation" | "of">> {
    const stats = await this.#outside.lstats(gitDir, signs, budget);
    const has = (sign: (typeof signs)[number]) => (stats[signs.indexOf(sign)] ?? null) !== null;
    const named = (operation: OperationKind, of: string | null) => ({ operation, of: shortBranch(of) });
    const headName = (folder: string) => this.#read(`${gitDir}/${folder}/head-name`, budget);
    if (has("rebase-apply")) {
      const applying = await this.#read(`${gitDir}/rebase-apply/applying`, budget);
      return applying === null ? named("rebase", await headName("rebase-apply")) : named("am", null);
    }
    if (has("rebase-merge")) return named("rebase", await headName("rebase-merge"));
    if (has("MERGE_HEAD")) return named("merge", null);
    if (has("CHERRY_PICK_HEAD")) return named("cherry-pick", null);
    if (has("REVERT_HEAD")) return named("revert", null);
    if (has("sequencer")) {
      const todo = (await this.#read(`${gitDir}/sequencer/todo`, budget)) ?? "";
      if (todo.trim() !== "") return named(/^r(?:evert)?\b/.test(todo) ? "revert" : "cherry-pick", null);
    }
    if (has("BISECT_LOG")) return named("bisect", await this.#read(`${gitDir}/BISECT_START`, budget));
    return { operation: null, of: null };
  }

  /** In old repositories HEAD is a symbolic link. */
  async #headText(gitDir: string, budget: Budget): Promise<string | null> {
    const path = `${gitDir}/HEAD`;
    const stat = await this.#outside.look(path, null, budget, (prober, at) => prober.lstat(at));
    if (stat?.isSymbolicLink()) {
      const to = await this.#outside.look(path, null, budget, (prober, at) => prober.readlink(at));
      return to === null ? null : `ref: ${to}`;
    }
    return (await this.#read(path, budget))?.trim() ?? null;
  }

  /** Returns the commit of a ref; null: it does not exist yet. */
  async #commitOf(common: string, ref: string, budget: Budget): Promise<string | null> {
    const loose = (await this.#read(`${common}/${ref}`, budget))?.trim() ?? "";
    if (/^[\da-f]{40,64}$/.test(loose)) return loose;
    if (loose !== "") return this.#outside.noAnswer(`${ref} is no branch that Kite reads`);
    const path = `${common}/packed-refs`;
    const stat = await this.#outside.look(path, null, budget, (prober, at) => prober.lstat(at));
    if (stat === null) return null;
    const max = limits.packedRefsBytes;
    const text = await this.#outside.look(path, null, budget, (prober, at) => prober.readSmall(at, max));
    if (text === null) return this.#outside.noAnswer(`${path} is no file of at most ${max / 1024} KiB`);
    for (const line of text.split("\n"))
      if (line.endsWith(` ${ref}`)) return line.slice(0, line.indexOf(" "));
    return null;
  }

  async #askGit(place: GitPlace, found: HeadPlace): Promise<HeadPlace | Unreachable> {
    const full = await this.#run(place, ["rev-parse", "--symbolic-full-name", "HEAD"]);
    if (full.code !== 0) return unreachable(full.errorText);
    const at = await this.#run(place, ["rev-parse", "--verify", "--quiet", "HEAD"]);
    if (at.code !== 0) return unreachable(at.errorText);
    const ref = full.out.trim();
    return { ...found, ref: ref.startsWith("refs/") ? ref : null, commit: at.out.trim() };
  }

  #read(path: string, budget: Budget): Promise<string | null> {
    return this.#outside.look(path, null, budget, (prober, at) =>
      prober.readSmall(at, limits.smallFileBytes),
    );
  }

  #run({ worktree, gitDir }: GitPlace, args: readonly string[]): Promise<GitAnswer> {
    const at = [`--git-dir=${gitDir}`, `--work-tree=${worktree}`];
    const allowance = new Allowance(this.#outside.clock, limits.guardMs, limits.guardTimeMs);
    return this.#child.run([...at, ...args], worktree, allowance);
  }
}

/** A branch by its short name. */
function shortBranch(text: string | null): string | null {
  const name = text?.trim().replace(/^refs\/heads\//, "") ?? "";
  return name === "" || name === "detached HEAD" ? null : name;
}

/** Returns the end of a regular file, at most `limits.smallFileBytes`; null if it is no regular file. */
async function tailOf(path: string): Promise<string | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return null;
    const length = Math.min(stat.size, limits.smallFileBytes);
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await handle.read(buffer, 0, length, stat.size - length);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Steps that only add commits. An amended commit is no move: what it takes from others is told by itself. */
const adds =
  /^(?:commit(?: \((?:initial|merge|cherry-pick|amend)\))?|merge [^:]*|pull(?! (?:--rebase|-r))[^:]*|cherry-pick|revert|am):/;

/** Whether HEAD's log leads from one commit to the other by steps that only add commits. */
function onlyAdded(log: string, from: string, to: string): boolean {
  let at = to;
  for (const line of log.split("\n").reverse()) {
    const [, old, now, message] = /^([\da-f]{40,64}) ([\da-f]{40,64}) [^\t]*\t(.*)$/.exec(line) ?? [];
    if (now === undefined) continue;
    if (now !== at || message === undefined || !adds.test(message)) return false;
    if (old === from) return true;
    at = old ?? "";
  }
  return false;
}
