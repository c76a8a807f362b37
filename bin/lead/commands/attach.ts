import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { attach } from "../spawn/stop.ts";

const help = `
Opens a spawned agent in this terminal, to watch it, answer its questions or talk to it. Of a background session the
client says how to leave it (Ctrl-Z); of a window, tmux's own keys do.

Exit codes: those of the program that shows it; 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents attach paging`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, or the id of its record")
    .addHelpText("after", help)
    .action((name: string) => run(world => attach(world, name)));
}
