import type { Command } from "commander";
import { type ProcessContext, printFramed, printJson, type Run, screenOf } from "../process-context.ts";
import { type ScopeFlags, scopeProject } from "../scope.ts";
import { terminalsOf } from "../terminals.ts";
import { sessionsView } from "../view/sessions.ts";
import { rowsOf, withDaemon } from "../with-daemon.ts";

const help = `
It lists the sessions of the working directory's project, and a line for each other project. --json has all projects.

--json: {"sessions":[...]}, rows as \`query\` gives them, with "terminal" (pts/3; tmux %5, pts/3) if its process has one.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite sessions
  $ kite sessions --all`;

interface SessionsFlags extends ScopeFlags {
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("list the sessions, with their ids, processes and directories")
    .argument("[directory]", "list those of this directory's project; by default the working directory's")
    .option("--all", "list those of all projects")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((directory: string | undefined, flags: SessionsFlags) =>
      run(world => sessions(world, flags.json === true, directory, flags)),
    );
}

/** Lists the sessions of `directory`'s project, by default the working directory's. Returns the exit code. */
export async function sessions(
  world: ProcessContext,
  json: boolean,
  directory?: string,
  flags: ScopeFlags = {},
): Promise<number> {
  return withDaemon(world, json, async client => {
    const [rows, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
    const terminals = terminalsOf(rows.flatMap(({ pid }) => pid ?? []));
    if (json) {
      const terminalOf = (pid: number | null) => (pid === null ? undefined : terminals.get(pid));
      const all = rows.map(row => ({ ...row, ...terminalField(terminalOf(row.pid)) }));
      printJson(world, { sessions: all });
      return 0;
    }
    const project = await scopeProject(world, directory, flags);
    printFramed(world, sessionsView({ sessions: rows, locks, project, terminals }, screenOf(world)));
    return 0;
  });
}

function terminalField(terminal: string | undefined): { readonly terminal?: string } {
  return terminal === undefined ? {} : { terminal };
}
