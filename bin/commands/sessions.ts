import type { Command } from "commander";
import type { ProcessContext } from "../process-context.ts";

const help = `
--json: {"sessions":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite sessions`;

export function add(program: Command): void {
  program
    .command("sessions")
    .description("list the sessions, with their ids, processes and directories")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { processWorld } = await import("../process-context.ts");
      process.exitCode = await sessions(processWorld(), json === true);
    });
}

/** Returns the exit code. */
export async function sessions(world: ProcessContext, json: boolean): Promise<number> {
  const { rowsOf, withDaemon } = await import("../with-daemon.ts");
  const { printFramed, printJson, screenOf } = await import("../process-context.ts");
  const { sessionsView } = await import("../view/sessions.ts");
  return withDaemon(world, json, async client => {
    const [rows, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
    if (json) printJson(world, { sessions: rows });
    else printFramed(world, sessionsView({ sessions: rows, locks }, screenOf(world)));
    return 0;
  });
}
