import type { Command } from "commander";
import { type DiffFlags, diff } from "../diff/diff.ts";
import type { Run } from "../process-context.ts";

const help = `
Of an agent, diff shows what that agent changed and has not committed. Of a file or a directory it shows all that is not
committed, by writer: lines that one agent changed stand apart from those of another, and lines that several changed stand
together. Without an argument it shows the project. An agent's name comes before a file's: -- before it makes it a file.

--commit shows what the agent committed since it began, as far as Kite still keeps its versions. --from and --to compare
versions of one file (kite history lists them); without --from the last commit counts, without --to the file as it is.

Where Kite keeps no versions (the setting rescue is off, or the file holds a secret), a file stands whole below the names of
all who wrote it. At a terminal the text goes through your pager, as git finds it in your own settings and environment.

--patch prints what \`git apply\` takes, unchanged: kite diff src/auth.ts --by alice --patch | git apply --cached stages what
alice alone changed. Kite compares by git, without any program or setting of the project.

--json: {"ok":true, "diffs":[{"file", "path", "worktree", "was": its old name or null, "how": "added"|"deleted"|"renamed"|"changed",
"mode", "writers":[{"id", "agent", "name"}|null], "isWhole": nobody can tell the writers apart, "isText", "diff"}],
"unseen":[files that differ where the agent works, which Kite saw nobody write], "odd":[{"file", "what"}], "more": files beyond 500}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite diff alice
  $ kite diff src/auth.ts --stat
  $ kite diff alice --commit
  $ kite diff src/auth.ts --from v-12 --to v-15`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name-or-file]", "an agent, or a file or directory")
    .option("--commit", "what the agent committed since it began")
    .option("--stat", "count the lines of each file")
    .option("--by <name>", "only what this agent changed")
    .option("--from <version>", "from this version, instead of the last commit")
    .option("--to <version>", "to this version, instead of the file as it is")
    .option("--patch", "print a patch")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((what: string | undefined, flags: DiffFlags) => run(world => diff(world, what, flags)));
}
