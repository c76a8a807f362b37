/** What the command line says before the word that is being completed. */
import { Command, type Option } from "commander";
import type { Commands } from "../entry.ts";
import { withPresentWords } from "../old-words.ts";
import { addCommand } from "../parser.ts";

/** A command line up to the cursor, read with the definitions of its command. */
export interface TypedLine {
  /** The command with its subcommand (`task claim`); empty if the word is the command itself. */
  readonly path: string;
  /** The definition of the last command of the path; null at the start. */
  readonly command: Command | null;
  /** How many arguments stand before the word. */
  readonly position: number;
  /** The option whose value the word is. */
  readonly option: Option | null;
  /** Everything behind `--` belongs to another program. */
  readonly isForeign: boolean;
}

/** Reads the words before the cursor, without `kite` itself. Null if they name no command. */
export async function readLine(before: readonly string[], commands: Commands): Promise<TypedLine | null> {
  const start: TypedLine = { path: "", command: null, position: 0, option: null, isForeign: false };
  const [name, ...words] = withPresentWords(before);
  if (name === undefined || name === "help") return start;
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) return null;
  const program = new Command("kite");
  // Only the definition is read; nothing runs.
  await addCommand(program, name, entry, async () => {}, commands);
  let command = named(program, name);
  let path = name;
  let position = 0;
  let option: Option | null = null;
  for (const word of words) {
    if (option !== null) {
      option = null;
      continue;
    }
    if (word === "--") return { path, command, position, option: null, isForeign: true };
    if (word.startsWith("-")) {
      option = takesNext(command, word);
      continue;
    }
    const below = position === 0 ? named(command, word) : null;
    if (below === null) position += 1;
    else [command, path] = [below, `${path} ${word}`];
  }
  return { path, command, position, option, isForeign: false };
}

function named(command: Command | null, name: string): Command | null {
  return command?.commands.find(one => one.name() === name || one.aliases().includes(name)) ?? null;
}

/** Returns the option if its value is the next word. */
function takesNext(command: Command | null, word: string): Option | null {
  const found = command?.options.find(({ short, long }) => word === short || word === long);
  return found?.required === true ? found : null;
}
