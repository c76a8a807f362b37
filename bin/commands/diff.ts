import type { Command } from "commander";
import type { Run } from "../process-context.ts";
import { type DiffFlags, diff } from "../diff/diff.ts";

const help = `
Of a file, diff shows what is not committed, by writer: lines that one agent changed stand apart from those of another, and
lines that several changed stand together. Of an agent it shows what that agent changed and has not committed. Without an
argument it shows all of the project. --from and --to compare versions of one file (kite history lists them); without
--from the last commit counts, without --to the file as it is.

--patch prints what \`git apply\` takes, unchanged: kite diff src/auth.ts --by alice --patch | git apply --cached stages what
alice alone changed. Kite compares by git, without any program or setting of the project.

--json: {"ok":true, "diffs":[{"file", "path", "worktree", "writers":[{"id", "agent", "name"}|null], "isText", "diff"}]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite diff src/auth.ts
  $ kite diff alice
  $ kite diff src/auth.ts --from v-12 --to v-15`;

export function add(command: Command, run: Run): void {
  command
    .argument("[file-or-name]", "a file or directory, or an agent's name")
    .option("--from <version>", "from this version, instead of the last commit")
    .option("--to <version>", "to this version, instead of the file as it is")
    .option("--by <name>", "only what this agent changed")
    .option("--patch", "print a patch")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((what: string | undefined, flags: DiffFlags) => run(world => diff(world, what, flags)));
}
