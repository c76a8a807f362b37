import type { Command } from "commander";

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
