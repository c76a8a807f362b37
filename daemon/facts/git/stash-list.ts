/** The stash list of a repository, as git's own log of it says. */
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import { type GitFacts, projectAt } from "../repositories.ts";
import type { GitPlace } from "./process.ts";

/** One entry of a stash list. */
export interface ListedStash {
  /** The id of its commit. */
  readonly commit: string;
  /** When it was made, by the clock of whoever made it, in milliseconds. */
  readonly wallMs: number;
}

/** The stash list that all worktrees of a project share. */
export interface StashList {
  readonly project: string;
  /** The latest first: `stash@{0}`, `stash@{1}` and so on. */
  readonly entries: readonly ListedStash[];
}

/** Reads the stash list of a repository from the log of `refs/stash`, without starting git. */
export async function stashList(
  outside: BudgetedFs,
  git: GitFacts,
  { gitDir }: Pick<GitPlace, "gitDir">,
): Promise<StashList | Unreachable> {
  const common = await git.commonDirOf(gitDir);
  if (typeof common !== "string") return common;
  const text = await outside.fact(async budget => {
    const stat = (path: string) => outside.look(path, null, budget, (prober, at) => prober.lstat(at));
    if ((await stat(`${common}/reftable`)) !== null)
      return outside.noAnswer(`${common} keeps its references in a form that Kite does not read`);
    const log = `${common}/logs/refs/stash`;
    if ((await stat(log)) === null) return "";
    const max = limits.stashLogBytes;
    const read = await outside.look(log, null, budget, (prober, at) => prober.readSmall(at, max));
    return read ?? outside.noAnswer(`${log} is no file of at most ${max / 1024} KiB`);
  });
  if (typeof text !== "string") return text;
  const lines = [...text.matchAll(/^[\da-f]{40,64} ([\da-f]{40,64}) [^\t\n]*?(\d+) [-+]\d{4}(?:\t|$)/gm)];
  const entries = lines.map(([, commit = "", seconds]) => ({ commit, wallMs: Number(seconds) * 1000 }));
  return { project: projectAt(common), entries: entries.reverse() };
}
