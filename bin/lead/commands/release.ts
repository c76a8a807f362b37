import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { type ReleaseFlags, release } from "../health/release.ts";

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. Its claimed tasks
become pending, and the locks of its turn go to their waiters. The agent goes on: Kite tells it with its next event. A
person may do this, and an agent that leads it. Locks that it requested itself stay: kite unlock --force FILE.

--json: {"ok":true, "agent":{"id","agent","name"}, "tasks":[{"id","description"}], "taskCount", "paths":[...], "lockCount"},
or the refusal.

Exit codes: 0 done, 1 refused (no such agent, or several, or you do not lead it), 3 no daemon runs.

Examples:
  $ kite release alice
  $ kite release alice/Explore --reason "its terminal hangs"`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, its id, or the beginning of its id")
    .option("--reason <text>", "why, for the trail and for who claims the tasks next")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, flags: ReleaseFlags) => run(world => release(world, name, flags)));
}
