import type { Command } from "commander";
import type { Run } from "../process-context.ts";
import { type UndoFlags, undo } from "../rescue/undo.ts";
import { addWait } from "../rescue/write-back.ts";

const help = `
Undo takes the last write of a file back, whoever wrote it; --to takes back all writes since a version, --before those of
one agent. A file that is gone gets back what it had. What others wrote since stays where nothing overlaps. Undo shows what it will do, and asks on a terminal;
elsewhere --yes says yes, which an agent needs to take back the work of others. What the file had before is kept: undo
says how to have it again.

An undo is an edit: it waits for the file's lock, and freezes and gates hold it back. Where lines overlap, it says so and
leaves the file alone.

--json: {"ok":true, "file", "path", "takes":["v-3"], "wouldBe", "result":"whole"|"merged"|"marked"|"same"|"none",
"before":"v-4", "version":"v-5"}; a conflict is {"ok":false, "code":"conflict", "error", "file", "path", "conflicts"}

Exit codes: 0 done, 1 refused, in conflict or failed, 3 no daemon runs.

Examples:
  $ kite undo src/auth.ts
  $ kite undo src/auth.ts --to v-12
  $ kite undo --before alice                   # the last write of alice
  $ kite undo src/auth.ts --before alice       # all that alice wrote in it since the last commit`;

export function add(command: Command, run: Run): void {
  const undoes = command
    .argument("[file]", "the file; without it the last write of the agent that --before names")
    .option("--to <version>", "back to this version (kite history lists them)")
    .option("--before <name>", "take back what this agent wrote")
    .option("-n, --dry-run", "show what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--whole", "put the earlier version in the place of all that the file has now")
    .option("--conflicts", "where lines overlap, write both with git's marks");
  addWait(undoes)
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((file: string | undefined, flags: UndoFlags) => run(world => undo(world, file, flags)));
}
