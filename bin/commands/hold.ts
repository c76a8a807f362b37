import type { Command } from "commander";
import type { HoldFlags } from "../messages/freezes.ts";

const help = `
While it lasts, edits of these files by other sessions of the project are refused with the reason; reading never is. It
ends with \`kite resume\`, with the time, or with the session that asked for it. The other sessions are told. A session
may hold twice at a time.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite hold src/db/ --for 5m --message "migrating the schema"
  $ kite hold                                          # what is held now`;

export function add(program: Command): void {
  program
    .command("hold")
    .description("ask that nobody else edits some files for a while")
    .argument("[file...]", "files, or directories with a slash at their end; none: show what is held")
    .option("--for <time>", "how long at most: 90s, 5m; up to 10m", "5m")
    .option("--message <text>", "why; the others read it")
    .option("--project <project>", "another project than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (files: readonly string[], flags: HoldFlags) => {
      const { processWorld } = await import("../process-context.ts");
      const { holdEdits } = await import("../messages/freezes.ts");
      process.exitCode = await holdEdits(processWorld(), files, flags);
    });
}
