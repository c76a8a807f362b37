import type { Command } from "commander";
import { limits } from "../../protocol/limits.ts";
import { type ProcessContext, printFramed, printJson, type Run, screenOf } from "../process-context.ts";
import { checkVersion, GitFailed, gitFor } from "../risk/git.ts";
import { type Branch, branchesAt, tryAll } from "../risk/trial.ts";
import { trialView } from "../view/trial.ts";
import { fail, rowsOf, withDaemon } from "../with-daemon.ts";

interface RiskFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

const help = `
Risk merges each pair of branches in memory, as they are committed now. It changes no repository, index or working tree.
The branches are those of the worktrees in which sessions work. Risk does not merge uncommitted work, but lists the files
that are uncommitted on both sides. It needs git 2.38 or newer.

--json: {"branches":[{"name", "worktree", "head"}], "pairs":[{"a", "b", "conflicts":[files] or null, "error"?,
"uncommitted":[files], "unseen"?:[worktrees where git could not say what is uncommitted]}], "left": number of pairs not tried}.

Exit codes: 0 done, with or without conflicts; 1 refused or failed; 3 no daemon runs to list the live sessions (--all
needs none).

Examples:
  $ kite risk
  $ kite risk --all`;

export function add(command: Command, run: Run): void {
  command
    .option("--all", "every worktree of the repository, not only those with live sessions")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RiskFlags) => run(world => risk(world, flags)));
}

/** Returns the exit code. */
export async function risk(world: ProcessContext, flags: RiskFlags): Promise<number> {
  const { cwd, env } = world;
  const json = flags.json === true;
  try {
    const git = gitFor(env, performance.now() + limits.riskMs);
    await checkVersion(git, cwd);
    const branches = await branchesAt(git, cwd);
    if (flags.all) return await show(world, flags, git, branches);
    return await withDaemon(world, json, async client => {
      const sessions = await rowsOf(client, "sessions");
      const live = new Set(sessions.filter(s => s.status !== "lost").map(s => s.worktree));
      return show(
        world,
        flags,
        git,
        branches.filter(branch => live.has(branch.worktree)),
      );
    });
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    return fail(world, json, "git_failed", error.message);
  }
}

async function show(
  world: ProcessContext,
  { all = false, json = false }: RiskFlags,
  git: Parameters<typeof import("../risk/trial.ts").tryAll>[0],
  branches: readonly Branch[],
): Promise<number> {
  const trial = await tryAll(git, branches);
  if (json) printJson(world, { branches, ...trial });
  else printFramed(world, trialView({ branches, all, ...trial }, screenOf(world)));
  return 0;
}
