/** The worktrees of a repository, and where a branch is in use. */
import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { isCode } from "../../../hooks/install/file.ts";
import { type Git, must } from "./git.ts";

export interface Worktree {
  /** Its real path. */
  readonly path: string;
  /** The full name of its branch; null: it has none, or is the bare repository. */
  readonly branch: string | null;
}

/** Returns the worktrees that exist, the main one first. */
export async function worktreesOf(git: Git): Promise<Worktree[]> {
  const out = await must(git, ["worktree", "list", "--porcelain", "-z"]);
  const found: Worktree[] = [];
  for (const record of out.split("\0\0")) {
    const fields = new Map(record.split("\0").map(line => fieldIn(line)));
    const path = fields.get("worktree");
    if (path === undefined || fields.has("prunable") || fields.has("bare")) continue;
    found.push({ path: await realpath(path).catch(() => path), branch: fields.get("branch") ?? null });
  }
  return found;
}

function fieldIn(line: string): [string, string] {
  const at = line.indexOf(" ");
  return at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

/** Returns the branches that a rebase in progress will move, in any worktree: their HEAD does not name them. */
export async function rebasing(gitDir: string): Promise<ReadonlySet<string>> {
  const linked = (await unlessAbsent(readdir(join(gitDir, "worktrees")))) ?? [];
  const places = [gitDir, ...linked.map(name => join(gitDir, "worktrees", name))];
  const branches = new Set<string>();
  for (const place of places) {
    for (const folder of ["rebase-merge", "rebase-apply"]) {
      const name = await unlessAbsent(readFile(join(place, folder, "head-name"), "utf8"));
      if (name !== null) branches.add(name.trim());
    }
  }
  return branches;
}

async function unlessAbsent<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
    throw error;
  }
}
