/** Which new file is a file that is gone, under another name. Pure. */

/** A file that came or went, with its content; a file that went may have several, one at a time. */
export interface Moved {
  readonly file: string;
  readonly content: Buffer;
}

/** Pairs that are compared line by line at most. */
const pairsMax = 2_500;
/** The part of the longer file that both must have, as git asks by default. */
const alikeMin = 0.5;

/** Returns for each new file the one that it was: first those of the same content, then those most alike. */
export function renamesOf(gone: readonly Moved[], come: readonly Moved[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const left = new Set(gone.filter(({ content }) => content.length > 0));
  const open = new Set(come.filter(({ content }) => content.length > 0));
  const pair = (from: Moved, to: Moved) => {
    found.set(to.file, from.file);
    for (const one of left) if (one.file === from.file) left.delete(one);
    open.delete(to);
  };
  for (const to of [...open]) {
    const same = [...left].find(({ content }) => content.equals(to.content));
    if (same !== undefined) pair(same, to);
  }
  if (left.size * open.size > pairsMax) return found;
  const pairs = [...open].flatMap(to =>
    [...left].map(from => ({ from, to, part: sharedPart(from.content, to.content) })),
  );
  for (const { from, to, part } of pairs.sort((a, b) => b.part - a.part))
    if (part >= alikeMin && left.has(from) && open.has(to)) pair(from, to);
  return found;
}

/** The part of the longer text, in bytes, whose lines are in both. */
function sharedPart(a: Buffer, b: Buffer): number {
  const counts = new Map<string, number>();
  const lines = (text: Buffer) => text.toString("latin1").split(/(?<=\n)/);
  for (const line of lines(a)) counts.set(line, (counts.get(line) ?? 0) + 1);
  let shared = 0;
  for (const line of lines(b)) {
    const count = counts.get(line) ?? 0;
    if (count === 0) continue;
    counts.set(line, count - 1);
    shared += line.length;
  }
  return shared / Math.max(a.length, b.length);
}
