import type { Command } from "commander";
import { fileTyped } from "../lockable.ts";
import { type ProcessContext, printFramed, printJson, type Run, screenOf } from "../process-context.ts";
import { realPath } from "../real-path.ts";
import { type ScopeFlags, scopeProject } from "../scope.ts";
import { whoseView } from "../view/whose.ts";
import { exitCodes, rowsOf, withDaemon } from "../with-daemon.ts";

interface WhoseFlags extends ScopeFlags {
  readonly json?: boolean;
}

const help = `
Whose lists files that Kite saw sessions write, by an edit or with a shell command, while git reports uncommitted work in
them. It marks work of ended sessions as (ended): Kite refuses a git command that would wipe such work once, and lets it
run when the session sends it again. For files that only you changed, use git status.

Without a file it shows the working directory's project, and counts the files of the others.

Below the files, whose prints the command that commits a session's own files and leaves all other files and the index as
they are. Kite does not run it.

--json: {"writes":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite whose
  $ kite whose src/auth.ts
  $ kite whose src/`;

export function add(command: Command, run: Run): void {
  command
    .argument("[file]", "only this file, or the files below this directory")
    .option("--all", "show all projects")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((file: string | undefined, flags: WhoseFlags) => run(world => whose(world, file ?? null, flags)));
}

/** Returns the exit code. */
export async function whose(world: ProcessContext, file: string | null, flags: WhoseFlags): Promise<number> {
  const path = file === null ? null : await realPath(world.cwd, fileTyped(file));
  return withDaemon(world, flags.json === true, async client => {
    const all = await rowsOf(client, "writes");
    const writes = all.filter(row => path === null || row.path === path || row.path.startsWith(`${path}/`));
    const project = flags.json || path !== null ? null : await scopeProject(world, undefined, flags);
    if (flags.json) printJson(world, { writes });
    else printFramed(world, whoseView(writes, file, screenOf(world), project));
    return exitCodes.done;
  });
}
