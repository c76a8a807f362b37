import type { Command } from "commander";
import type { Commands } from "../entry.ts";
import { interrupted, type Run } from "../process-context.ts";
import { lineRunner } from "../watch/act.ts";
import { type WatchFlags, watch } from "../watch.ts";

const help = `
On a terminal, watch shows one screen and updates it: the project of the working directory, and a line for each other one.
Its keys are q (end), / (filter), p (all projects), Enter (one agent) and ? (all keys). Others do something with the chosen
session, each as the command of that name does: e (explain), d (diff), m (message), g (go), and, if you confirm it with y,
r (release) and o (off --for 1h). In a pipe it prints a line for each event. With
--json it prints first {"sessions":[...],"locks":[...]}, then one event a line, as \`subscribe\` gives them.
If the daemon stops, watch waits for the next one.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite watch
  $ kite watch | tee -a today.log`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .option("--json", "print JSON, a line for each event")
    .addHelpText("after", help)
    .action((flags: WatchFlags) => run(world => watch(world, flags, interrupted(), lineRunner(all))));
}
