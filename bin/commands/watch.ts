import type { Command } from "commander";
import type { WatchFlags } from "../watch.ts";

const help = `
On a terminal everything is on one screen, drawn again as it changes; Ctrl-C ends it. In a pipe each thing that happens
is a line; with --json first {"sessions":[...],"locks":[...]}, then one event a line, as \`subscribe\` gives them.
A daemon that goes away is waited for.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite watch
  $ kite watch | tee -a today.log`;

export function add(program: Command): void {
  program
    .command("watch")
    .description("show sessions, locks, tasks and what happens, live")
    .option("--json", "print JSON, a line for each event")
    .addHelpText("after", help)
    .action(async (flags: WatchFlags) => {
      const { processWorld } = await import("../process-context.ts");
      const { watch } = await import("../watch.ts");
      const ending = new AbortController();
      // A second one ends it the hard way.
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => ending.abort());
      process.exitCode = await watch(processWorld(), flags, ending.signal);
    });
}
