import type { Command } from "commander";
import { thaw } from "../messages/freezes.ts";
import type { Run } from "../process-context.ts";

const help = `
The session in KITE_SESSION or CLAUDE_CODE_SESSION_ID ends its own freezes. At a terminal you end the freezes of every
session in the project of the working directory.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite thaw
  $ kite thaw src/db/                                  # the freezes over this directory
  $ kite thaw h-2`;

interface Flags {
  readonly project?: string;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .argument("[file...]", "only the freezes over these files, or a freeze by its id (h-2)")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((names: readonly string[], flags: Flags) => run(world => thaw(world, names, flags)));
}
