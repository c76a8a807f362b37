/** Functions that commands share before their own files load. */
import type { Command } from "commander";
import type { ProcessContext } from "./process-context.ts";

/** Runs the work of a command in this process and sets the exit code that it returns. */
export async function run(work: (world: ProcessContext) => Promise<number>): Promise<void> {
  const { processWorld } = await import("./process-context.ts");
  process.exitCode = await work(processWorld());
}

/** Adds a command below `parent`, with `--json` and examples. */
export function subcommand(
  parent: Command,
  name: string,
  says: string,
  examples: readonly string[],
): Command {
  const noun = examples.length === 1 ? "Example" : "Examples";
  return parent
    .command(name)
    .description(says)
    .option("--json", "print one JSON object")
    .addHelpText("after", `\n${noun}:\n${examples.map(example => `  ${example}`).join("\n")}`);
}
