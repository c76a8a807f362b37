/** Which files of a repository's branches would conflict if they were merged today. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { type Git, GitFailed, NoTime } from "./git.ts";

/** A worktree with a commit. */
export interface Branch {
  /** The branch's name; for a detached HEAD the folder's name with the commit. */
  readonly name: string;
  readonly worktree: string;
  readonly head: string;
}

export interface Pair {
  readonly a: string;
  readonly b: string;
  /** Files that a merge of the two commits leaves in conflict; null if git could not tell. */
  readonly conflicts: readonly string[] | null;
  /** Why git could not tell. */
  readonly error?: string;
  /** Files that are uncommitted on both sides, which the trial merge does not see. */
  readonly uncommitted: readonly string[];
  /** Worktrees of the two whose uncommitted files git did not list in time. */
  readonly unseen?: readonly string[];
}

export interface Trial {
  readonly pairs: readonly Pair[];
  /** Number of pairs not tried: there were too many, or no time was left. */
  readonly left: number;
}

/** Returns the worktrees around `cwd` that have a commit, the main one first. Throws `GitFailed`. */
export async function branchesAt(git: Git, cwd: string): Promise<Branch[]> {
  const { code, out } = await git(["worktree", "list", "--porcelain", "-z"], cwd);
  if (code !== 0) throw new GitFailed("the working directory is in no git repository; run kite risk in one");
  const branches: Branch[] = [];
  for (const record of out.split("\0\0")) {
    const fields = new Map(record.split("\0").map(line => cutAt(line, " ")));
    const worktree = fields.get("worktree");
    const head = fields.get("HEAD");
    const isGone = fields.has("bare") || fields.has("prunable");
    if (worktree === undefined || head === undefined || isGone || /^0+$/.test(head)) continue;
    const ref = fields.get("branch")?.replace(/^refs\/heads\//, "");
    const name = ref ?? `${basename(worktree)}@${head.slice(0, 7)}`;
    branches.push({ name, worktree: await realpath(worktree).catch(() => worktree), head });
  }
  return branches;
}

/**
 * Merges every pair in memory. Git writes the merged trees to a temporary folder, so the repository, its index and its
 * working trees stay unchanged.
 */
export async function tryAll(git: Git, branches: readonly Branch[]): Promise<Trial> {
  const all = branches.flatMap((a, i) => branches.slice(i + 1).map(b => [a, b] as const));
  const [first] = branches;
  if (all.length === 0 || first === undefined) return { pairs: [], left: 0 };
  const objects = await git(["rev-parse", "--path-format=absolute", "--git-path", "objects"], first.worktree);
  const own = await mkdtemp(join(tmpdir(), "kite-risk-"));
  try {
    const apart = {
      GIT_OBJECT_DIRECTORY: own,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects.out.replace(/\n$/, "")),
    };
    const tried: Tried[] = [];
    for (const [a, b] of all.slice(0, limits.riskPairsMax)) {
      const result = await tryOne(git, a, b, apart);
      if (result === null) break;
      tried.push({ a, b, ...result });
    }
    return { pairs: await withUncommitted(git, tried), left: all.length - tried.length };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

interface Tried extends Pick<Pair, "conflicts" | "error"> {
  readonly a: Branch;
  readonly b: Branch;
}

async function withUncommitted(git: Git, tried: readonly Tried[]): Promise<Pair[]> {
  const dirty = new Map<string, ReadonlySet<string> | null>();
  for (const { worktree } of tried.flatMap(({ a, b }) => [a, b])) {
    if (!dirty.has(worktree)) dirty.set(worktree, await uncommittedIn(git, worktree));
  }
  return tried.map(({ a, b, ...result }) => {
    const theirs = dirty.get(b.worktree);
    const uncommitted = [...(dirty.get(a.worktree) ?? [])].filter(file => theirs?.has(file)).sort();
    const unseen = [a.worktree, b.worktree].filter(worktree => dirty.get(worktree) === null);
    return { a: a.name, b: b.name, ...result, uncommitted, ...(unseen.length === 0 ? {} : { unseen }) };
  });
}

/** Returns null if no time is left. */
async function tryOne(
  git: Git,
  a: Branch,
  b: Branch,
  apart: Readonly<Record<string, string>>,
): Promise<Pick<Pair, "conflicts" | "error"> | null> {
  if (a.head === b.head) return { conflicts: [] };
  try {
    const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", a.head, b.head];
    const { code, out } = await git(args, a.worktree, apart);
    // Git prints the merged tree first, then the files in conflict.
    const [, ...files] = out.split("\0").filter(word => word !== "");
    if (code === 0 || code === 1) return { conflicts: files };
    return { conflicts: null, error: "they have no common history, or git cannot merge them" };
  } catch (error) {
    if (error instanceof NoTime) return null;
    if (!(error instanceof GitFailed)) throw error;
    return { conflicts: null, error: error.message };
  }
}

/** Returns the uncommitted files; null if git does not answer in time, since the trial does not need them. */
async function uncommittedIn(git: Git, worktree: string): Promise<ReadonlySet<string> | null> {
  try {
    const args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    const { code, out } = await git(args, worktree);
    return code === 0 ? new Set(out.split("\0").flatMap(line => (line === "" ? [] : [line.slice(3)]))) : null;
  } catch (error) {
    if (error instanceof GitFailed) return null;
    throw error;
  }
}

function cutAt(line: string, mark: string): [string, string] {
  const at = line.indexOf(mark);
  return at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

/** Quotes a path for a list of paths that git splits at colons. */
function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, character => `\\${character}`)}"`;
}
