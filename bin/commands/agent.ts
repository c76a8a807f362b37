import type { Command } from "commander";
import { type AgentFlags, agent } from "../agent/agent.ts";
import { spawnOutput } from "../leading.ts";
import type { ProcessContext, Run } from "../process-context.ts";

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. Of an agent
that has ended there is only a history: what it declared, which tasks it finished, and the latest decisions about it.

Of a spawned agent, --log prints what its client printed last, and --diff what it changed since its branch began.

--json: {"agent":{"id","agent","name","project"}, "session", "declaration", "locks":[...], "waits":[...], "tasks":[...],
"unread", "decisions":[...]}; a history is {"agent", "isLive", "declarations":[...], "tasks":[...], "decisions":[...]}.

Exit codes: 0 done, 1 refused (no such agent, or several), 3 no daemon runs.

Examples:
  $ kite agent alice
  $ kite agent alice/Explore
  $ kite agent alice --history`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, its id, or the beginning of its id")
    .option("--history", "show what it declared and finished before")
    .option("--log", "print what a spawned agent's client printed last")
    .option("--diff", "print what a spawned agent changed in its worktree")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, flags: AgentFlags) => run(world => showAgent(world, name, flags)));
}

/** Shows an agent, its history, or what a spawned one printed or changed. Returns the exit code. */
export async function showAgent(world: ProcessContext, name: string, flags: AgentFlags): Promise<number> {
  if (flags.log !== true && flags.diff !== true) return agent(world, name, flags);
  const { showDiff, showLog } = await spawnOutput();
  return (flags.diff === true ? showDiff : showLog)(world, name, flags.json === true);
}
