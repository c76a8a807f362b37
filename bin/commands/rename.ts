import type { Command } from "commander";
import { type RenameFlags, rename } from "../agent/rename.ts";
import type { Run } from "../process-context.ts";

const help = `
SESSION is a session's name, its id, or the beginning of one. The new name holds until the next rename, also when the
session ends and is resumed. With one name, an agent renames its own session.

--json: {"ok":true, "id", "name", "was", "project"}, or the refusal.

Exit codes: 0 done, 1 refused (no such session, or several, or another one has the name), 3 no daemon runs.

Examples:
  $ kite rename calm-otter alice
  $ kite rename calm alice`;

export function add(command: Command, run: Run): void {
  command
    .argument(
      "<session>",
      "the session's name, its id, or the beginning of one; or the new name of your own session",
    )
    .argument("[name]", "its new name: letters, digits, dots, dashes and underscores")
    .option("--project <project>", "another project than that of the working directory")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((session: string, name: string | undefined, flags: RenameFlags) =>
      run(world => rename(world, session, name, flags)),
    );
}
