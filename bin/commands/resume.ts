import type { Command } from "commander";

const help = `
The session in KITE_SESSION or CLAUDE_CODE_SESSION_ID ends its own holds. At a terminal you end those of everybody in the
project of the working directory.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite resume
  $ kite resume h-2`;

interface Flags {
  readonly project?: string;
  readonly json?: boolean;
}

export function add(program: Command): void {
  program
    .command("resume")
    .description("let edits go on that were on hold")
    .argument("[hold]", "only this one")
    .option("--project <project>", "another project than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (hold: string | undefined, flags: Flags) => {
      const { processWorld } = await import("../process-context.ts");
      const { resume } = await import("../messages/freezes.ts");
      process.exitCode = await resume(processWorld(), hold, flags);
    });
}
