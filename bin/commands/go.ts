import type { Command } from "commander";
import { type GoFlags, go } from "../go.ts";
import type { Run } from "../process-context.ts";

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. If this terminal
and the agent's are in the same tmux, go shows the agent's window and pane here. Else it says where the agent is, and the
command that leads there: tmux attach for a pane of tmux, kite agents attach for a spawned agent in the background, and
the terminal and its program for all others. Kite reads the terminal from the agent's process when you ask.

--json: {"ok":true, "name", "pid":N|null, "terminal":STRING|null, "went":BOOL, "command":STRING|null}

Exit codes: 0 done, 1 refused (no such agent, or several) or failed, 3 no daemon runs.

Examples:
  $ kite go alice
  alice is in pane %5 of tmux. To see it: tmux attach -t main:1.0`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, its id, or the beginning of one")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, flags: GoFlags) => run(world => go(world, name, flags)));
}
