import type { Command } from "commander";
import { broadcast } from "../messages/messages.ts";
import type { Run } from "../process-context.ts";

const help = `
Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite broadcast "main is red, please pull before you push"`;

interface Flags {
  readonly project?: string;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .argument("<text...>")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((words: readonly string[], flags: Flags) => run(world => broadcast(world, words, flags)));
}
