/** The files that differ between two commits, with their content. */

import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { Allowance } from "../work-clock.ts";
import { emptyTree } from "./blob.ts";
import { type GitChild, type GitPlace, unreachable } from "./process.ts";

/** What two commits have of the files in which they differ, by name: `mode oid`, or that the file is not there. */
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
  const { code, out, said } = await git.run(
    [...at, "diff-tree", ...plain, ...trees, "--"],
    worktree,
    allowance,
  );
  if (code !== 0) return unreachable(said);
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
