import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { fail } from "../../with-daemon.ts";
import { stop } from "../spawn/stop.ts";

const help = `
Stops a spawned agent by its client's own command, whatever its record says, or closes its window. An unfinished task can be
claimed again. Its worktree and branch stay: kite agents prune removes them if nothing would be lost. An agent whose process
was killed may be brought back by its client some 20 s later: this watches it for 30 s, and stops it again unless a person
prompts it. A person may stop an agent, the agent that spawned it, and one that leads. kite down stops the daemon.

--json: {"ok":true, "spawn":{...}}

Exit codes: 0 it has ended, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents stop paging`;

const nameless = "say which agent to stop: kite agents stop NAME; to stop the daemon: kite down";

export function add(command: Command, run: Run): void {
  command
    .argument("[name]", "the agent's name, or the id of its record")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string | undefined, { json = false }: { readonly json?: boolean }) =>
      run(async world =>
        name === undefined ? fail(world, json, "usage", nameless) : stop(world, name, json),
      ),
    );
}
