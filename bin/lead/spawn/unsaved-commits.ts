/** Finds the commits that would be lost with an ended agent's worktree and branch. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { counted } from "../../view/text.ts";
import type { Git } from "./git.ts";

/** What is about to be removed. */
export interface Doomed {
  readonly branch: string | null;
  /** What its branch began from. */
  readonly base: string | null;
  /** Git's own folder of the worktree; null: git knows no such worktree. */
  readonly gitDir: string | null;
}

/** A change of HEAD or of a branch, as git's reflog has it. */
interface Move {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

/** Of a rebase, a pull that rebases, and an amended commit: git or its user put the new commit in the place of the old one. */
const rewrites = /^(?:commit \(amend\)|rebase\b|pull\b.*\(\w+\))/;

/** Returns a sentence if commits would be lost, or null. `git` runs in the main worktree. */
export async function unsavedCommits(git: Git, { branch, base, gitDir }: Doomed): Promise<string | null> {
  const tip = branch === null ? null : await commitAt(git, [], `refs/heads/${branch}`);
  const head = gitDir === null ? null : await commitAt(git, ["--git-dir", gitDir], "HEAD");
  const [ofBranch, ofHead] = await Promise.all([
    onlyIn(git, tip === null ? [] : [tip], branch, base),
    onlyIn(git, head === null ? [] : [head], branch, base),
  ]);
  if (ofBranch.length > 0)
    return `its branch ${branch} has commits that are nowhere else (${ofBranch.length}); merge or push them first`;
  if (ofHead.length > 0)
    return `its worktree has ${countOf(ofHead)} that no branch has; ${branchAdvice([ofHead[0] ?? ""])}`;
  const left = await onlyInLogs(git, { branch, base, gitDir });
  if (left.length === 0) return null;
  return `its worktree's reflog alone has ${countOf(left)} that it left behind; ${branchAdvice(left)}`;
}

/** Returns the commits that `ends` reach, and nothing that stays: the main worktree's HEAD, `base`, a branch, tag or remote. */
export async function onlyIn(
  git: Git,
  ends: readonly string[],
  branch: string | null,
  base: string | null,
): Promise<string[]> {
  if (ends.length === 0) return [];
  const named = await Promise.all(
    ["HEAD", ...(base === null ? [] : [base])].map(ref => commitAt(git, [], ref)),
  );
  const stays = named.filter(id => id !== null);
  const own = branch === null ? [] : [`--exclude=${branch}`];
  const refs = [...own, "--branches", "--tags", "--remotes"];
  return linesOf(await git.read(["rev-list", "--stdin", "--not", ...stays, ...refs], ends.join("\n")));
}

/** Returns the commits that only the reflogs and the worktree's own refs hold, and that nothing replaced. */
async function onlyInLogs(git: Git, { branch, base, gitDir }: Doomed): Promise<string[]> {
  const own = gitDir === null ? [] : await movesOf(git, gitDir, "HEAD");
  const common = (await git.told("rev-parse", "--path-format=absolute", "--git-common-dir")).trim();
  const branchs = branch === null ? [] : await movesOf(git, common, `refs/heads/${branch}`);
  const refs = gitDir === null ? [] : await refsOf(git, gitDir);
  const known = await commitsOf(
    git,
    [...own, ...branchs].flatMap(({ from, to }) => [from, to]),
  );
  const ends = [...new Set([...leftBehind(own, known), ...leftBehind(branchs, known), ...refs])];
  const lost = new Set(await onlyIn(git, ends, branch, base));
  // A commit that was split or put together anew has left the same files in one that stays.
  const trees = new Set([...known].filter(([id]) => !lost.has(id)).map(([, { tree }]) => tree));
  return ends.filter(id => lost.has(id) && !trees.has(known.get(id)?.tree ?? ""));
}

/** Returns the commits that were left for another one which neither holds them nor replaced them, and the last one. */
function leftBehind(moves: readonly Move[], known: ReadonlyMap<string, Commit>): string[] {
  const ends = new Set<string>();
  for (const { from, to, why } of moves) {
    const goesOn = known.get(to)?.parents.includes(from) === true;
    if (goesOn || rewrites.test(why)) ends.delete(from);
    else ends.add(from);
    ends.add(to);
  }
  return [...ends].filter(id => known.has(id));
}

/** Returns what a reflog has, the oldest first. */
async function movesOf(git: Git, gitDir: string, ref: string): Promise<Move[]> {
  const file = join(gitDir, "logs", ref);
  // A log file is read as it is: git shows none of a branch that is gone.
  if (existsSync(file))
    return linesOf(readFileSync(file, "utf8")).flatMap(line => {
      const [, from = "", to = "", why = ""] = /^([0-9a-f]+) ([0-9a-f]+) [^\t]*\t?(.*)$/.exec(line) ?? [];
      return to === "" ? [] : [{ from, to, why }];
    });
  const { code, output } = await git.run("--git-dir", gitDir, "log", "-g", "--format=%H %gs", ref, "--");
  if (code !== 0) return [];
  const latest = linesOf(output).map(line => ({
    to: line.split(" ", 1)[0] ?? "",
    why: line.replace(/^\S+ /, ""),
  }));
  return latest.map(({ to, why }, i) => ({ from: latest[i + 1]?.to ?? "", to, why })).reverse();
}

/** Returns what the worktree's own refs name: those of a bisect, and such that its agent made. */
async function refsOf(git: Git, gitDir: string): Promise<string[]> {
  const own = ["refs/bisect", "refs/worktree", "refs/rewritten"];
  const format = "--format=%(objecttype) %(objectname)";
  const lines = linesOf(await git.read(["--git-dir", gitDir, "for-each-ref", format, ...own]));
  return lines.filter(line => line.startsWith("commit ")).map(line => line.slice("commit ".length));
}

/** Returns the commits among these ids that git still has. */
async function commitsOf(git: Git, ids: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
  const unique = [...new Set(ids)].filter(id => id !== "" && !/^0+$/.test(id));
  if (unique.length === 0) return new Map();
  const checked = linesOf(await git.read(["cat-file", "--batch-check"], unique.join("\n")));
  const there = checked.flatMap(line => /^(\S+) commit /.exec(line)?.[1] ?? []);
  if (there.length === 0) return new Map();
  const format = ["--no-walk=unsorted", "--format=%H %T %P"];
  const shown = linesOf(await git.read(["log", ...format, "--stdin"], there.join("\n")));
  return new Map(
    shown.map(line => {
      const [id = "", tree = "", ...parents] = line.trim().split(" ");
      return [id, { tree, parents }];
    }),
  );
}

async function commitAt(git: Git, where: readonly string[], ref: string): Promise<string | null> {
  const { code, output } = await git.run(...where, "rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
  return code === 0 ? output.trim() : null;
}

function countOf(commits: readonly string[]): string {
  return counted(commits.length, "commit");
}

function branchAdvice(commits: readonly string[]): string {
  const some = commits.slice(0, limits.spawnUnsavedMax).map(id => id.slice(0, 12));
  return `what is wanted of that needs a branch: ${some.map(id => `git branch NAME ${id}`).join(", ")}`;
}

function linesOf(text: string): string[] {
  return text.split("\n").filter(line => line !== "");
}
