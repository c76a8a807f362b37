import type { Command } from "commander";
import { limits } from "../../../protocol/limits.ts";
import type { Run } from "../../process-context.ts";
import { type CheckFlags, check } from "../checks/check.ts";
import { listChecks } from "../checks/list.ts";

const help = `
A project names its checks in .kite/config.json, beside its .git, for all its worktrees; a person trusts them (kite trust):
  {"checks": {"test": {"command": "npm test"}, "docs": {"command": "make docs", "when": ["docs/**", "*.md"]}}}

kite check runs the named ones, or all, one after the other: each by sh -c at the top of the worktree, with your rights. The
daemon keeps each result for the state of the worktree: its commit and its changed files. If files changed while a
check ran, its result counts for no state. A check has no input, and its process group is killed at the time limit.

--json: {"checks":[{"name", "green", "exit", "ranMs", "timedOut", "output": its end, "unrecorded": why it is not kept, or
null, "isUnsure": files changed while it ran, "state"}], "file", "problems"}; with --list also "trust", "state", and for each
check "status" ("green", "red", "stale", "never_run", "unknown") and "last", its latest result.

Exit codes: 0 all green; 1 one is red, files changed while one ran, or refused; 3 no daemon runs; 128 + the signal that
ended it.

Examples:
  $ kite check
  $ kite check test --timeout 60 --quiet`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name...]", "checks; by default all")
    .option("--list", "show the checks, whether they are trusted, and their latest results")
    .option("-q, --quiet", "show output only of red checks, and only its end")
    .option(
      "--timeout <seconds>",
      `time limit of each check, by default ${limits.checkMs / 1000}, at most ${limits.checkMaxMs / 1000}`,
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (names: readonly string[], flags: CheckFlags) => {
      if (flags.list === true) {
        await run(world => listChecks(world, flags.json === true));
        return;
      }
      await run(world => check(world, names, flags));
    });
}
