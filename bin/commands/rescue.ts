import type { Command } from "commander";
import type { Run } from "../process-context.ts";
import { type PurgeFlags, purge } from "../rescue/purge.ts";
import { type RescueFlags, type RestoreFlags, rescued, restored } from "../rescue/rescue.ts";
import { addWait } from "../rescue/write-back.ts";

const help = `
Rescue lists what was wiped lately in the project: by which command of whom, whose lines they were, and how many. restore
brings it back. kite history FILE lists all kept versions of a file, and kite help rescue says what is kept where, what is
never kept, and how to switch it off. An agent sees its own project alone.

--json: {"ok":true, "wipes":[...], "state":{...}}, rows as \`query\` gives them

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite rescue
  $ kite rescue restore r-12`;

const restoreHelp = `
A file that did not go on since gets its version back as a whole. Into one that did, Kite merges the kept work; where lines
overlap it says so, and leaves the file alone. What a file had before is kept, too. A restore is an edit: it waits for the
file's lock, and freezes and gates hold it back; an agent restores into its project's worktrees alone.

--json: {"ok":true, "wipe", "files":[{"file", "path", "version", "is":"restored"|"merged"|"marked"|"same"|"left", "why",
"conflicts", "before", "lines"}]}

Exit codes: 0 all of it is there again, 1 refused, or some of it is not, 3 no daemon runs.

Examples:
  $ kite rescue restore r-12
  $ kite rescue restore r-12 src/auth.ts
  $ kite rescue restore r-12 --into /tmp/lost
  $ kite rescue restore r-12 --patch > lost.patch`;

const purgeHelp = `
The versions are removed from the disk, and nothing brings them back. Where another file has a version with the same
content, purge names it. Only a person purges.

--json: {"ok":true, "versions", "contents", "bytes", "alsoIn":[...]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite rescue purge config/secrets.yml
  $ kite rescue purge --before 7d`;

export function add(command: Command, run: Run): void {
  command
    .enablePositionalOptions()
    .option("--all", "show all projects")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RescueFlags) => run(world => rescued(world, flags)));
  const restores = command
    .command("restore")
    .description("bring back what was wiped")
    .argument("<id>", "what was wiped: r-12, as kite rescue lists it; or a version: v-12")
    .argument("[file]", "only this file of it, or the files below this directory")
    .option("--into <dir>", "bring the files back into this directory instead")
    .option("--patch", "print the lost work as a patch, and write nothing")
    .option("--whole", "put the kept version in the place of all that a file has now")
    .option("--conflicts", "where lines overlap, write both with git's marks");
  addWait(restores)
    .option("--json", "print one JSON object")
    .addHelpText("after", restoreHelp)
    .action((id: string, file: string | undefined, flags: RestoreFlags) =>
      run(world => restored(world, id, file ?? null, flags)),
    );
  command
    .command("purge")
    .description("remove kept versions for good")
    .argument("[file]", "of this file, or of all files below this directory")
    .option("--before <time>", "only versions before this: a date, or an age such as 7d")
    .option("--json", "print one JSON object")
    .addHelpText("after", purgeHelp)
    .action((file: string | undefined, flags: PurgeFlags) => run(world => purge(world, file, flags)));
}
