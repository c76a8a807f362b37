import type { Command } from "commander";
import type { ProcessContext, Run } from "../process-context.ts";

const help = `
An agent's client starts this server and talks to it over standard input and output; "kite install" adds it to Claude
Code. In another client, configure the command "kite" with the argument "mcp".

Example, as a client's configuration:
  {"mcpServers": {"kite": {"command": "kite", "args": ["mcp"]}}}`;

export function add(command: Command, run: Run): void {
  command
    .description("serve Kite's tools to an agent, over the Model Context Protocol")
    .addHelpText("after", help)
    .action(() => run(mcp));
}

async function mcp({ env, paths }: ProcessContext): Promise<number> {
  const { processOf } = await import("../mcp/actor.ts");
  const { serve } = await import("../mcp/server.ts");
  const server = serve({ paths, env, process: processOf(env, process) });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
  return 0;
}
