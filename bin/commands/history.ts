import type { Command } from "commander";
import type { Run } from "../process-context.ts";
import { history } from "../rescue/history.ts";

const help = `
Kite keeps what agents write: after each write that it learns of, what the file has then. History lists these versions: who
wrote each, with which tool, when, and how many lines it added and took. It shows what no commit contains; --all shows older
ones. It says of which version the content is gone, and why a file is not kept. An agent sees its own project alone.

kite diff shows what changed between versions, kite undo takes changes back, and kite help rescue says what is kept where.

--json: {"ok":true, "path", "versions":[...], "older", "unkept":[...], "now":{"version"}|"changed"|"absent"|"odd"|null,
"on", "trouble"}, rows as \`query\` gives them

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite history src/auth.ts
  $ kite history --all src/`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file>", "a file, or a directory: all files below it")
    .option("--all", "show older versions, too: from before a file was last as committed")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((file: string, flags: { readonly all?: boolean; readonly json?: boolean }) =>
      run(world => history(world, file, flags)),
    );
}
