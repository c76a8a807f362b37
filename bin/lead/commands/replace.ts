import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { replace } from "../spawn/replace.ts";

const help = `
For an agent of kite spawn that stalled. The first time its client stops its session and resumes it, if it can. If it
stalls again, or does not come back, it is stopped, and another agent starts with its prompt, task, role, model, client
and base, in a worktree of its own; it is told of the branch, the last output and the declaration of the one before. Two
agents in a row take one place, no more. A person may do this, the agent that spawned it, and one that leads.

--json: {"ok":true, "spawn":{...}}, the agent that goes on

Exit codes: 0 a session goes on, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents replace paging`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, or the id of its record")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, { json }: { readonly json?: boolean }) =>
      run(world => replace(world, name, json === true)),
    );
}
