/** `kite declare` says what an agent is about to do. The command's flags; `declare.ts` reads them. */

import { type Command, Option } from "commander";
import type { Run } from "../context/process-context.ts";
import { type Flag, type FlagName, flagNames } from "./declare.ts";

const help = `
An agent says what it is about before it edits: who it is, how it understands its task, which files it will change, and
what it is not sure of. Each part may come alone; what is absent stays as it was. Other agents see it, and both sides
are told when two agents declare the same file.

FILE is YAML or JSON, - is standard input; its fields are those of \`kite declare --example\`. The agent is the one in
whose shell the command runs: session KITE_SESSION or CLAUDE_CODE_SESSION_ID, its agent in KITE_AGENT.

--json: the daemon's reply {"ok":true, "declaration":{...}, "overlaps":[...], "missing":[...]}; with --show
{"declaration":{...}|null}, or {"declarations":[...]} for all; a refusal {"ok":false, "code", "error", ...}.

Exit codes: 0 declared (even if parts are missing), 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite declare --role implementer --task "Page the list of orders" --confidence 0.7
  $ kite declare --file src/orders.ts --sees "one query for all" --will "a cursor" --file src/db/
  $ kite declare --uncertain "Is the order stable?" --evidence "sorted by id" --resolved
  $ kite declare - <<'END'
  understanding:
    plan:
      - Write the query
      - Test the last page
  END
  $ kite declare --show bob`;

interface OtherFlags {
  readonly show?: string | true;
  readonly example?: boolean;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command.argument("[file]", "a file with the declaration, - for standard input");
  // Flags of one part belong together by their order, which commander's values do not keep.
  const flags: Flag[] = [];
  for (const [name, [takes, says]] of Object.entries(flagNames) as [
    FlagName,
    readonly [string | null, string],
  ][]) {
    command.addOption(new Option(takes === null ? `--${name}` : `--${name} ${takes}`, says));
    command.on(`option:${name}`, (value: string | null) => flags.push({ name, value: value ?? "" }));
  }
  command
    .option("--show [name]", "show what an agent declared: its name, or the beginning of its id")
    .option("--example", "print a filled declaration to begin with")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (file: string | undefined, { show, example, json = false }: OtherFlags) => {
      const declaring = await import("./declare.ts");
      await run(world => {
        if (example === true) return declaring.example(world);
        if (show !== undefined) return declaring.show(world, show === true ? null : show, json);
        return declaring.declare(world, file, flags, json);
      });
    });
}
