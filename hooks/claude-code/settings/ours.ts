/** Tells Kite's entries from those of others, without the table of events. */

/** Returns true if an entry runs this Kite's hook client, present or older: all lie in its `bin` folder. */
export function isOurs(entry: unknown, bin: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  const words: unknown[] = [command, ...(Array.isArray(args) ? args : [])];
  return words.some(word => typeof word === "string" && word.startsWith(`${bin}/hook`));
}
