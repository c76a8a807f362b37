import type { Command } from "commander";
import type { ProcessContext } from "../process-context.ts";

interface LocksFlags {
  readonly watch?: boolean;
  readonly json?: boolean;
}

const help = `
--json: {"locks":[...]}, rows as \`query\` gives them; with --watch one event a line, as \`subscribe\` gives them.
--watch in a pipe prints what is held, then a line for each change.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite locks
  $ kite locks --watch`;

export function add(program: Command): void {
  program
    .command("locks")
    .description("list the locks and who waits for them")
    .option("--watch", "keep showing them, until interrupted")
    .option("--json", "print JSON")
    .addHelpText("after", help)
    .action(async (flags: LocksFlags) => {
      const { processWorld } = await import("../process-context.ts");
      const ending = new AbortController();
      if (flags.watch) for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => ending.abort());
      process.exitCode = await locks(processWorld(), flags, ending.signal);
    });
}

/** Returns the exit code; with `watch` when `until` says so or the daemon is gone. */
export async function locks(world: ProcessContext, flags: LocksFlags, until: AbortSignal): Promise<number> {
  const { rowsOf, withDaemon } = await import("../with-daemon.ts");
  const { printFramed, printJson, screenOf } = await import("../process-context.ts");
  const json = flags.json === true;
  if (flags.watch) {
    const { watchLocks } = await import("../watch-locks.ts");
    return withDaemon(world, json, client => watchLocks(world, client, json, until), { reconnect: true });
  }
  const { locksView } = await import("../view/locks.ts");
  return withDaemon(world, json, async client => {
    const [rows, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
    if (json) printJson(world, { locks: rows });
    else printFramed(world, locksView({ locks: rows, sessions }, screenOf(world)));
    return 0;
  });
}
