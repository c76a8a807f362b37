/** What `kite` knows of a command before it loads it. */
import type { Command } from "commander";
import type { Run, Work } from "./process-context.ts";

/** A command of `kite`. */
export interface Entry {
  /** What `kite --help` says of it. */
  readonly description: string;
  readonly load: () => Promise<LoadedCommand>;
  /** The command acts for the session or agent that runs it. */
  readonly acts?: true;
  /** It acts for nobody, but says something else to the session that KITE_SESSION means. */
  readonly readsSession?: true;
  /** For programs, or shown as a part of another command; help does not show it. */
  readonly hidden?: true;
}

export type Commands = Readonly<Record<string, Entry>>;

/** What the file of a command exports. */
interface LoadedCommand {
  /** Adds the arguments, options and action of the command. */
  readonly add: (command: Command, run: Run, all: Commands) => void;
  /**
   * Returns what the words behind the command's name ask for, or null if only the parser can tell: it takes a fifth of the
   * time of a frequent command, which has words without options most often.
   */
  readonly plain?: (words: readonly string[]) => Work | null;
}

/** Returns the command's name: the first word, or the second if the first is `help`. */
export function commandIn(argv: readonly string[], commands: Commands): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}
