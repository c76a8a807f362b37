import type { Command } from "commander";
import type { Commands } from "../program.ts";

const help = `
The scripts of kite completion call it. Prints a line for each word that may stand at the cursor: the word, a tab, what it is.

Example:
  $ kite complete -- task cl
  claim	claim the most urgent ready task that your role takes, or the named one`;

export function add(program: Command, all: Commands): void {
  program
    .command("complete")
    .description("list the words that complete a command line")
    .argument("[words...]", "the words behind kite; the last one is being completed")
    .addHelpText("after", help)
    .action((words: readonly string[]) => complete(words, all));
}

async function complete(words: readonly string[], all: Commands): Promise<void> {
  const { plain } = await import("../../protocol/text.ts");
  const { candidates } = await import("../completion/candidates.ts");
  const { print, processWorld } = await import("../process-context.ts");
  const world = processWorld();
  const found = await candidates(world, words, all);
  // A name with a control character cannot be typed.
  const typeable = found.filter(({ value }) => plain(value) === value);
  print(
    world,
    typeable.map(({ value, says }) => `${value}\t${plain(says, 80)}`),
  );
}
