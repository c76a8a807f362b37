import { type ProcessContext, printFramed, printJson, screenOf } from "./process-context.ts";
import { type ScopeFlags, scopeProject } from "./scope.ts";
import { terminalTexts } from "./terminals.ts";
import { sessionsView } from "./view/sessions.ts";
import { rowsOf, withDaemon } from "./with-daemon.ts";

/** Lists the sessions of `directory`'s project, by default the working directory's. Returns the exit code. */
export async function sessions(
  world: ProcessContext,
  json: boolean,
  directory?: string,
  flags: ScopeFlags = {},
): Promise<number> {
  return withDaemon(world, json, async client => {
    const [rows, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
    const terminals = terminalTexts(rows.flatMap(({ pid }) => pid ?? []));
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
