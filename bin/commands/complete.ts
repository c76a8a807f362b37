import type { Command } from "commander";
import { plain } from "../../protocol/text.ts";
import { candidates } from "../completion/candidates.ts";
import type { Commands } from "../entry.ts";
import { type ProcessContext, print, type Run } from "../process-context.ts";

const help = `
The scripts of kite completion call it. Prints a line for each word that may stand at the cursor: the word, a tab, what it is.

Example:
  $ kite complete -- task cl
  claim	claim the most urgent ready task that your role takes, or the named one`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .argument("[words...]", "the words behind kite; the last one is being completed")
    .addHelpText("after", help)
    .action((words: readonly string[]) => run(world => complete(world, words, all)));
}

async function complete(world: ProcessContext, words: readonly string[], all: Commands): Promise<number> {
  const found = await candidates(world, words, all);
  // A name with a control character cannot be typed.
  const typeable = found.filter(({ value }) => plain(value) === value);
  print(
    world,
    typeable.map(({ value, says }) => `${value}\t${plain(says, 80)}`),
  );
  return 0;
}
