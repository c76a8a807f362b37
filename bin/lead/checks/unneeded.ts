/** Which checks `kite check` leaves out: those that nothing of what they look at has changed for. */
import { LocalError } from "../../../client/errors.ts";
import { type Check, commandHash } from "../../../daemon/lead/settings.ts";
import type { UnneededRow } from "../../../protocol/lead/check.ts";
import { limits } from "../../../protocol/limits.ts";
import { searchPath } from "../../../protocol/paths.ts";
import type { Acting } from "../../actor.ts";
import type { Client } from "../../process-context.ts";
import { ProgramFailed } from "../../programs.ts";
import { Git } from "../spawn/git.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Place {
  readonly env: Env;
  readonly worktree: string;
  readonly own: Acting | null;
}

/** Returns the rows of those `checks` that need no run; none where nobody can tell, and in continuous integration. */
export async function unneededOf(
  client: Client,
  checks: readonly Check[],
  { env, worktree, own }: Place,
): Promise<readonly UnneededRow[]> {
  const isLimited = checks.some(({ when }) => when !== null);
  if (!isLimited || !["", "false", "0"].includes(env["CI"] ?? "")) return [];
  const base = await baseCommit(new Git({ ...env, PATH: searchPath(env["PATH"]) }, worktree));
  const asked = {
    cwd: worktree,
    ...(own === null ? {} : { id: own.id }),
    ...(base === null ? {} : { base }),
  };
  try {
    const answer = await client.request("check_unneeded", asked, { timeoutMs: limits.stateRequestMs });
    if (!answer.ok) return [];
    const isSame = (row: UnneededRow) => (check: Check) =>
      check.name === row.name &&
      commandHash(check.command) === row.command &&
      JSON.stringify(check.when) === JSON.stringify(row.when);
    return answer.unneeded.filter(row => checks.some(isSame(row)));
  } catch (error) {
    // The daemon is away, or another version: then every check runs.
    if (!(error instanceof LocalError)) throw error;
    return [];
  }
}

/**
 * Returns the commit at which the worktree's branch left the branch that `kite merge` moves, that of the main worktree, or
 * else the remote's default branch; null: the worktree is on that branch itself, or git does not tell.
 */
async function baseCommit(git: Git): Promise<string | null> {
  try {
    const own = await word(git, "symbolic-ref", "--quiet", "HEAD");
    const [main = ""] = (await git.told("worktree", "list", "--porcelain")).split("\n\n");
    const branch = /^branch (refs\/heads\/.+)$/m.exec(main)?.[1] ?? null;
    const remote = await word(git, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD");
    for (const base of [branch, remote]) {
      if (base === null || base === own) continue;
      if (own !== null && base === own.replace(/^refs\/heads\//, "refs/remotes/origin/")) continue;
      const commit = await word(git, "merge-base", "HEAD", base);
      if (commit !== null) return commit;
    }
    return null;
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    return null;
  }
}

/** Returns the line that git prints; null if it fails. */
async function word(git: Git, ...args: readonly string[]): Promise<string | null> {
  const { code, output } = await git.run(...args);
  const line = output.trim();
  return code === 0 && line !== "" && !line.includes("\n") ? line : null;
}
