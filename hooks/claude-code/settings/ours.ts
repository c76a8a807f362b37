/** Tells Kite's entries from those of others, without the table of events. */

/** The program of entries that hold on every machine, as a shell finds it. Part of committed files: it must stay. */
export const portableProgram = `${variable("KITE_HOME:-$HOME/.kite")}/bin/hook`;

/** Returns a variable as a shell and the client read it. */
export function variable(words: string): string {
  return `\${${words}}`;
}

/**
 * Returns true if an entry runs this Kite's hook client, present or older: all lie in its `bin` folder, named in full or
 * as on every machine.
 */
export function isOurs(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  const words: unknown[] = [command, ...(Array.isArray(args) ? args : [])];
  return words.some(word => typeof word === "string" && (word.startsWith(`${bin}/hook`) || isPortable(word)));
}

/** Returns true if a word of an entry is the script that runs the hook client of any machine. */
export function isPortable(word: string): boolean {
  return word.includes(portableProgram);
}
