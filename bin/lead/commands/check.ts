import type { Command } from "commander";
import { limits } from "../../../protocol/limits.ts";
import type { Run } from "../../process-context.ts";
import { type CheckFlags, check } from "../checks/check.ts";
import { listChecks } from "../checks/list.ts";
import { type TrustFlags, trust } from "../checks/trust.ts";
import { listTrusted } from "../checks/trust-list.ts";

const help = `
A project names its checks in .kite/config.json, beside its .git, for all its worktrees; a person trusts them (kite check --trust):
  {"checks": {"test": {"command": "npm test"}, "docs": {"command": "make docs", "when": ["docs/**", "*.md"]}}}

kite check runs the named ones, or all, one after the other: each by sh -c at the top of the worktree, with your rights. Of all
it leaves out, and says so, a check with "when" if no file of these globs changed since it was last green; if it never was:
since the branch began, uncommitted files included. --all runs these too; in CI, and without a base, all run. The daemon keeps each result for the state of the worktree: its commit and its changed files. If files changed while a
check ran, its result counts for no state. A check has no input, and its process group is killed at the time limit.

--json: {"checks":[{"name", "green", "exit", "ranMs", "timedOut", "output": its end, "unrecorded": why it is not kept, or
null, "isUnsure": files changed while it ran, "state"}], "unneeded":[{"name", "when", "since": "green" or "base"}], "file", "problems"}; with --list also "trust", "state", and for each
check "status" ("green", "red", "stale", "never_run", "unknown") and "last", its latest result.

With --trust kite check runs nothing. It shows a person the text of all the project's checks and of its gates, which any agent
may write, with the programs that the repository's .git/config names for kite merge, and asks whether these may run. After any change of that text, and after it is gone, it shows what
changed and asks again. Trusted gates stay in force until then, whatever the file says. Trust is for you alone, in
~/.kite/trusted.json, and for the project with all its worktrees. An agent's shell is refused. --json then has
{"ok":true, "file", "checks":[{"name", "command", "when":[GLOB...] or null}], "gates", "setup", "programs":{NAME:LINE} if there are any,
"problems":[...], "was": "untrusted", "changed" or "trusted"}; with --list {"files":[{"file", "at":MS, "trust"}]}; with --revoke {"ok":true, "file", "revoked"}.

Exit codes: 0 all green; 1 one is red, files changed while one ran, or refused; 3 no daemon runs; 128 + the signal that
ended it.

Examples:
  $ kite check
  $ kite check test --timeout 60 --quiet
  $ kite check --trust
  $ kite check --trust --revoke ~/code/shop`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name...]", "checks; by default all. With --trust a directory of the project")
    .option("--all", "run also those that nothing has changed for")
    .option("--list", "show the checks, whether they are trusted, and their latest results")
    .option(
      "--trust",
      "read the project's checks, and let kite check run them; with --list show which are trusted",
    )
    .option("--revoke", "with --trust: trust the project's checks no longer")
    .option("--yes", "with --trust, for scripts of yours: do not ask")
    .option("-q, --quiet", "show output only of red checks, and only its end")
    .option(
      "--timeout <seconds>",
      `time limit of each check, by default ${limits.checkMs / 1000}, at most ${limits.checkMaxMs / 1000}`,
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(
      async (names: readonly string[], flags: CheckFlags & TrustFlags & { readonly trust?: boolean }) => {
        if (flags.trust === true) {
          await run(world =>
            flags.list === true
              ? listTrusted(world, flags.json === true)
              : trust(world, names[0] ?? ".", flags),
          );
          return;
        }
        if (flags.list === true) {
          await run(world => listChecks(world, flags.json === true));
          return;
        }
        await run(world => check(world, names, flags));
      },
    );
}
