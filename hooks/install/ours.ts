/** Tells Kite's entries in clients' settings from those of others, and writes the commands that a shell runs. */
import { shellArgument } from "../../protocol/text.ts";

/** The program of entries that hold on every machine, as a shell finds it. Part of committed files: it must stay. */
export const portableProgram = `${variable("KITE_HOME:-$HOME/.kite")}/bin/hook`;

/** Returns a variable as a shell and the client read it. */
export function variable(words: string): string {
  return `\${${words}}`;
}

/**
 * Returns the command of an entry that a shell runs; it does nothing, and ends with 0, where the program is gone. `words`
 * are the hook program's arguments; `bin` is null for the usual one. A client may have a person trust the command by its
 * text: it must stay.
 */
export function guardedCommand(words: readonly string[], bin: string | null): string {
  return `set -- ${words.map(shellArgument).join(" ")}; f=${programWord(bin)}; [ ! -r "$f" ] || . "$f"`;
}

function programWord(bin: string | null): string {
  return bin === null ? portableProgram : shellArgument(`${bin}/hook`);
}

/**
 * Returns true if an entry runs this Kite's hook client, present or older: all lie in its `bin` folder, named in full or
 * as on every machine.
 */
export function isOurs(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  const words: unknown[] = [command, ...(Array.isArray(args) ? args : [])];
  const isKites = (word: string) =>
    word.startsWith(`${bin}/hook`) || word.includes(`; f=${programWord(bin)}; `) || isPortable(word);
  return words.some(word => typeof word === "string" && isKites(word));
}

/** Returns true if a word of an entry is the script that runs the hook client of any machine. */
export function isPortable(word: string): boolean {
  return word.includes(portableProgram);
}
