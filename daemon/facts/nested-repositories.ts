/** Repositories and worktrees in the folders of a worktree. Files that git would read are read anew: no cache is asked. */
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { Budget, BudgetedFs } from "./filesystem.ts";
import type { Repository } from "./repositories.ts";

/** A folder of a worktree may have become a link. */
const how = { maybeElsewhere: true };

/** Whether nothing is in the folder. */
export async function isEmpty(outside: BudgetedFs, path: string, budget: Budget): Promise<boolean> {
  const names = await outside.look(path, null, budget, (prober, p) => prober.names(p, 1), how);
  return names === null || names.length === 0;
}

/** Whether `git worktree add` of the project made this worktree. It then has a state of its own. */
export async function isLinkedWorktree(
  outside: BudgetedFs,
  { project, worktree, gitDir }: Repository,
  budget: Budget,
): Promise<boolean> {
  if (gitDir === null) return false;
  const isBelow = [join(project, ".git"), project].some(common => gitDir.startsWith(`${common}/worktrees/`));
  const read = (path: string) =>
    outside.look(path, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes), how);
  return isBelow && (await read(join(gitDir, "gitdir")))?.trim() === join(worktree, ".git");
}
