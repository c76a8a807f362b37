import type { Command } from "commander";
import {
  interrupted,
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../process-context.ts";
import { type ScopeFlags, scopeProject } from "../scope.ts";
import { locksView } from "../view/locks.ts";
import { watchLocks } from "../watch-locks.ts";
import { rowsOf, withDaemon } from "../with-daemon.ts";

interface LocksFlags extends ScopeFlags {
  readonly watch?: boolean;
  readonly json?: boolean;
}

const help = `
It lists the locks of the working directory's project, and a line for each other project. --json has all projects.

--json: {"locks":[...]}, rows as \`query\` gives them; with --watch one event a line, as \`subscribe\` gives them.
In a pipe, --watch prints the present locks, then a line for each change.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite locks
  $ kite locks --watch`;

export function add(command: Command, run: Run): void {
  command
    .argument("[directory]", "list those of this directory's project; by default the working directory's")
    .option("--all", "list those of all projects")
    .option("--watch", "update the list until interrupted")
    .option("--json", "print JSON")
    .addHelpText("after", help)
    .action(async (directory: string | undefined, flags: LocksFlags) => {
      const until = flags.watch ? interrupted() : new AbortController().signal;
      await run(world => locks(world, flags, until, directory));
    });
}

/** Returns the exit code; with `watch`, once `until` is aborted or the daemon has gone. */
export async function locks(
  world: ProcessContext,
  flags: LocksFlags,
  until: AbortSignal,
  directory?: string,
): Promise<number> {
  const json = flags.json === true;
  const project = json ? null : await scopeProject(world, directory, flags);
  if (flags.watch) {
    return withDaemon(world, json, client => watchLocks({ world, client, json, project }, until), {
      reconnect: true,
    });
  }
  return withDaemon(world, json, async client => {
    const [rows, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
    if (json) printJson(world, { locks: rows });
    else printFramed(world, locksView({ locks: rows, sessions, project }, screenOf(world)));
    return 0;
  });
}
