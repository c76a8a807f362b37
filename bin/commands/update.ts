import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { changesSince } from "../update/changes.ts";
import { partsOf, root } from "../update/parts.ts";
import { version } from "../version.ts";
import { clean } from "../view/text.ts";

const help = `
Shows each part of Kite on this machine (the program, the daemon, the hooks' client, plugins), which of them are older than
the program, and the command that updates each. It changes nothing, and asks nobody; with --fetch it asks the remote of the
clone that it runs from. If the daemon is older, it shows what the changelog says of the versions since.

--json: {"version", "parts":[{"part", "now", "todo":TEXT|null}], "changes":[...]}

Exit codes: 0 done, 1 failed.

Example:
  $ kite update
  program  version 0.2.0, a clone in /home/ada/kite, as of its last fetch
  daemon   version 0.1.0
             kite down && kite up`;

interface UpdateFlags {
  readonly fetch?: boolean;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .option("--fetch", "ask the remote of the clone first")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: UpdateFlags) => run(world => update(world, flags)));
}

async function update(world: ProcessContext, { fetch, json }: UpdateFlags): Promise<number> {
  const { parts, daemon } = await partsOf(world, fetch === true);
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const changes = daemon === null ? [] : changesSince(changelog, daemon);
  if (json) {
    printJson(world, { version, parts, changes });
    return 0;
  }
  const lines = parts.flatMap(({ part, now, todo }) => [
    `${part.padEnd(9)}${now}`,
    ...(todo === null ? [] : [`${" ".repeat(11)}${todo}`]),
  ]);
  print(world, [...lines, ...changes.flatMap(text => ["", ...text.split("\n")])].map(clean));
  if (parts.every(({ todo }) => todo === null)) print(world, ["Everything is of this version."]);
  return 0;
}
