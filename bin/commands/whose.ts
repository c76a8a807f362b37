import type { Command } from "commander";
import type { ProcessContext } from "../process-context.ts";

interface WhoseFlags {
  readonly json?: boolean;
}

const help = `
Shows files with uncommitted work that Kite saw sessions write, by an edit or with a shell command, until git says that
nothing uncommitted is left in them. Work of sessions that have ended is shown as (ended): a session's git command that
would wipe it is refused once, and runs when it is sent again. Files that only you changed are not here: git status.

Below the files, the command that commits a session's own files and leaves everything else as it is, also what is
staged. Kite does not run it.

--json: {"writes":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite whose
  $ kite whose src/auth.ts
  $ kite whose src/`;

export function add(program: Command): void {
  program
    .command("whose")
    .description("show whose uncommitted work is in which file")
    .argument("[file]", "only this file, or what is below this directory")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (file: string | undefined, flags: WhoseFlags) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await whose(processWorld(), file ?? null, flags);
    });
}

/** Returns the exit code. */
export async function whose(world: ProcessContext, file: string | null, flags: WhoseFlags): Promise<number> {
  const { exitCodes, rowsOf, withDaemon } = await import("../with-daemon.ts");
  const { printFramed, printJson, screenOf } = await import("../process-context.ts");
  const { whoseView } = await import("../view/whose.ts");
  const path = file === null ? null : await realPath(world.cwd, file);
  return withDaemon(world, flags.json === true, async client => {
    const all = await rowsOf(client, "writes");
    const writes = all.filter(row => path === null || row.path === path || row.path.startsWith(`${path}/`));
    if (flags.json) printJson(world, { writes });
    else printFramed(world, whoseView(writes, file, screenOf(world)));
    return exitCodes.done;
  });
}

/** The file as the daemon names it; one that is gone by its directory. */
async function realPath(cwd: string, file: string): Promise<string> {
  const { realpath } = await import("node:fs/promises");
  const { basename, dirname, join, resolve } = await import("node:path");
  const path = resolve(cwd, file);
  try {
    return await realpath(path);
  } catch {
    // Deleting a file is work in it, too.
    const folder = await realpath(dirname(path)).catch(() => dirname(path));
    return join(folder, basename(path));
  }
}
