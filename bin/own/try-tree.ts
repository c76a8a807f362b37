/**
 * The try tree of an actor: a worktree below Kite's own directory with HEAD and the actor's own lines, in which the hooks of a
 * commit and the commands of a try run.
 *
 * Invariants: an actor has at most one for each worktree, and it is used again. Only its maker's commands use it, one at a
 * time. Its HEAD is detached, but while hooks of a commit run: they see the branch. Nothing in it is anybody's only copy.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { Env } from "../context/programs.ts";
import { CallerGit } from "./caller-git.ts";

/** Whose tree it is, and of which worktree. */
export interface TreeOwner {
  readonly id: string;
  /** Null: the session's main agent. */
  readonly agent: string | null;
  readonly worktree: string;
}

export interface TryTree {
  readonly folder: string;
  /** Its own index, as `GIT_INDEX_FILE` names it to hooks. */
  readonly index: string;
}

/** Returns the path below which all that Kite keeps of one actor's forms in one worktree begins. */
function ownFiles({ tries }: Pick<KitePaths, "tries">, { id, agent, worktree }: TreeOwner): string {
  const key = createHash("sha256")
    .update([id, agent ?? "", worktree].join("\n"))
    .digest("hex");
  return join(tries, key.slice(0, 16));
}

/** Makes the folder of all trees, and returns the beginning of the owner's own paths in it. */
export function openTries(paths: Pick<KitePaths, "tries">, owner: TreeOwner): string {
  mkdirSync(paths.tries, { recursive: true, mode: 0o700 });
  const own = ownFiles(paths, owner);
  writeFileSync(`${own}.json`, JSON.stringify(owner), { mode: 0o600 });
  return own;
}

/**
 * Returns the tree with the files of `tree` and HEAD at `commit`; `clean`: without other files, but those that git ignores. Throws
 * `ProgramFailed`.
 */
export async function tryTree(
  git: CallerGit,
  paths: Pick<KitePaths, "tries">,
  owner: TreeOwner,
  { commit, tree }: { readonly commit: string; readonly tree: string },
): Promise<TryTree> {
  const folder = openTries(paths, owner);
  const isThere = async () => {
    if (!existsSync(join(folder, ".git"))) return false;
    return (await git.lineOrNull(["rev-parse", "--git-dir"], { cwd: folder })) !== null;
  };
  if (!(await isThere())) {
    // What a killed command left of it.
    rmSync(folder, { recursive: true, force: true });
    await git.run(["worktree", "prune"]);
    const quiet = ["-c", "core.hooksPath=/dev/null"];
    await git.read([
      ...quiet,
      "worktree",
      "add",
      "--force",
      "--force",
      "--no-checkout",
      "--detach",
      folder,
      commit,
    ]);
  }
  const at = { cwd: folder };
  const index = await git.line(["rev-parse", "--path-format=absolute", "--git-path", "index"], at);
  // A killed command of this owner may have left it: no other uses this index.
  rmSync(`${index}.lock`, { force: true });
  await git.read(["update-ref", "--no-deref", "HEAD", commit], at);
  await git.read(["read-tree", "--reset", "-u", tree], at);
  await git.read(["clean", "-ffdq"], at);
  return { folder, index };
}

/** Removes the trees of actors that have ended, and what Kite keeps beside them. Returns the folders that it removed. */
export async function pruneTries(
  env: Env,
  { tries }: Pick<KitePaths, "tries">,
  sessions: readonly SessionRow[],
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of existsSync(tries) ? readdirSync(tries) : []) {
    if (!name.endsWith(".json")) continue;
    const folder = join(tries, name.slice(0, -".json".length));
    const owner = readOwner(`${folder}.json`);
    if (owner !== null && sessions.some(({ id }) => id === owner.id)) continue;
    // A person's command uses that of an agent that has ended.
    if (existsSync(`${folder}.busy`)) continue;
    if (owner !== null && existsSync(folder) && existsSync(owner.worktree)) {
      const git = new CallerGit(env, owner.worktree);
      await git.run(["worktree", "remove", "--force", "--force", folder]);
    }
    rmSync(folder, { recursive: true, force: true });
    for (const file of readdirSync(tries))
      if (file.startsWith(name.slice(0, -".json".length)))
        rmSync(join(tries, file), { recursive: true, force: true });
    removed.push(folder);
  }
  return removed;
}

function readOwner(file: string): TreeOwner | null {
  try {
    const text = readFileSync(file, "utf8").slice(0, limits.spawnProgramBytes);
    const owner: unknown = JSON.parse(text);
    if (typeof owner !== "object" || owner === null) return null;
    const { id, agent = null, worktree } = owner as Partial<TreeOwner>;
    return typeof id === "string" && typeof worktree === "string" ? { id, agent, worktree } : null;
  } catch (error) {
    // Gone, or cut off by a kill: the tree has no owner.
    if (error instanceof SyntaxError || isSystemError(error)) return null;
    throw error;
  }
}
