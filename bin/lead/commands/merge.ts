import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { fail } from "../../with-daemon.ts";
import { cancelMerge, listMerges } from "../merge/list.ts";
import { merge } from "../merge/merge.ts";
import { type MergeUsage, wrongUsage } from "../merge/usage.ts";

const help = `
A name is a branch, or an agent: then the branch of its worktree. An agent of kite spawn may have ended. Each branch is
merged into the base in a worktree of its own, and the project's checks (kite check) run there: a fresh checkout, without
what git ignores. A line "setup" beside the checks in .kite/config.json, such as "npm ci", runs once before them. If all
are green, the base moves forward to the merge. One merge of a base runs at a time, in the order of asking; branches of
one command are merged as their authors' tasks depend on each other, else as given.

A branch that conflicts, or whose checks are red, goes back: its author gets a message (of a spawned agent that has ended
the agent that spawned it), its author's task is pending again, and the next one follows. What builds on it (by tasks) is
cancelled. Other trouble stops the command: checks that are not trusted, a base that cannot move, a full disk.

Where the base is checked out, its files move with it. If a file that the merge changes has uncommitted work there, is
assumed to be unchanged, is in the way untracked, or is locked by another agent, the command stops and names it; other
uncommitted work stays as it is. A base in several worktrees, or in a rebase, does not move.

No hook of the repository runs, neither on the merge nor on the base: the checks decide. Submodules are merged as commits
and not checked out. --rebase puts the branch's commits onto the base; the branch itself stays where it is.

--pr merges nothing here: it pushes the branch to the remote and lets gh, if it is installed, open a pull request into the
base. Only a person may; it shows what goes where and asks each time. It never forces. No hook runs: with a hook pre-push it
pushes nothing. What the repository's own git configuration names for a push counts only after kite check --trust.

Without names it merges what waits for the base and no command attends to: commands that were killed leave such.
Ctrl-C removes the worktree, and cancels what the command queued.

--json: {"base", "merges":[the merges that it queued or ran, as in kite merge --list], "stopped": why it stopped, or null};
with --dry-run {"base", "waiting":[merges that no command attends to, which are merged first], "plan":[{"branch", "author", "tasks", "after", "uncommitted": files, "isMerged"}], "checks"}; with --list {"merges"}; with
--cancel {"cancelled":[ids]}.

Exit codes: 0 all merged, or with --check all could be; 1 one was not, or refused; 3 no daemon runs; 130 interrupted.

Examples:
  $ kite merge alice bob
  $ kite merge pay cart --into release --check
  $ kite merge alice --pr
  $ kite merge --list`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name...]", "branches, or agents")
    .option("--into <base>", "the branch to merge into; by default the main worktree's")
    .option("--check", "merge and check, and leave the base where it is")
    .option("--dry-run", "say which branches would be merged, in which order")
    .option("--rebase", "rebase each branch onto the base instead of merging it")
    .option("--pr", "push the branch and open a pull request with gh, instead of merging here; it asks you")
    .option("--list", "show what waits, runs, and has ended")
    .option("--cancel <id>", "cancel a merge: its id, or a part of it that fits one of the project alone")
    .option(
      "--project <project>",
      "with --list or --cancel: another project than that of the working directory",
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (names: readonly string[], flags: MergeUsage) => {
      const json = flags.json === true;
      const wrong = wrongUsage(names, flags);
      if (wrong !== null) {
        await run(async world => fail(world, json, "usage", wrong));
        return;
      }
      if (flags.list === true || flags.cancel !== undefined) {
        const { cancel } = flags;
        await run(world =>
          cancel === undefined ? listMerges(world, flags) : cancelMerge(world, cancel, flags),
        );
        return;
      }
      const [name] = names;
      if (flags.pr === true && name !== undefined) {
        const { pullRequest } = await import("../pull-request/pull-request.ts");
        await run(world => pullRequest(world, name, flags));
        return;
      }
      await run(world => merge(world, names, flags));
    });
}
