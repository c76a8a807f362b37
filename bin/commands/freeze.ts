import type { Command } from "commander";
import { terminalQuestion } from "../ask-person.ts";
import { type FreezeFlags, freeze } from "../messages/freezes.ts";
import type { Run } from "../process-context.ts";

const help = `
While a freeze lasts, Kite refuses edits of these files by other sessions of the project, and tells them why. Reading is
never refused. A freeze ends with \`kite thaw\`, when its time is over, or with the session that asked for it. Kite tells
the other sessions. A session may have two freezes at a time, and freezes files below its project's worktrees and its
working directory only. A person freezes any file. Where no repository is and no session works, freeze asks on a terminal,
and elsewhere refuses.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite freeze src/db/ --for 5m --message "migrating the schema"
  $ kite freeze                                        # the freezes in force`;

export function add(command: Command, run: Run): void {
  command
    .argument("[file...]", "files, or directories with a slash at their end; none: show the freezes")
    .option("--for <time>", "longest time: 90s, 5m; up to 10m", "5m")
    .option("--message <text>", "why; Kite shows it to the other sessions")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((files: readonly string[], flags: FreezeFlags) =>
      run(world => freeze(world, files, flags, terminalQuestion())),
    );
}
