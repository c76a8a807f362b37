import { type Command, InvalidArgumentError } from "commander";
import { terminalQuestion } from "../ask-person.ts";
import type { Run } from "../process-context.ts";
import { type RepairFlags, repair } from "../repair/repair.ts";

const help = `
The daemon does not start with a damaged journal, so that nothing is dropped in silence. Repair shows what does not build
on the damaged part, asks, stores that as the new journal, and keeps the damaged files beside it. A task behind the
damage may get another number if nothing tells its own. Only a person gives up the rest. A script says so with the number
of the last entry before the damage, which repair prints.

--json: {"ok":true, "repaired":true, "damage", "saved":{"tasks", "context", "messages", "sessions", "locks"},
  "lost":{"entries", "readable":{TYPE:COUNT}}, "partial":true|false, "copy":DIRECTORY}

Exit codes: 0 saved, or nothing to repair; 1 not confirmed, or the daemon runs.

Example:
  $ kite repair`;

export function add(command: Command, run: Run): void {
  command
    .description("save what a damaged journal still holds, and keep the damaged files")
    .option(
      "--discard-after <entry>",
      "save it without a question; the journal is whole up to this entry",
      entryNumber,
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RepairFlags) => run(world => repair(world, flags, terminalQuestion())));
}

function entryNumber(typed: string): number {
  if (/^\d{1,15}$/.test(typed)) return Number(typed);
  throw new InvalidArgumentError("Give the number that kite repair prints.");
}
