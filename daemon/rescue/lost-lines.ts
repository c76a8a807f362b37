/** Which lines of a kept text a file has lost. Pure. A line that a commit, a stash entry or the file has is not lost. */

/** Texts of the file. */
export interface Texts {
  /** The kept version. */
  readonly kept: string;
  /** What is in the file now. */
  readonly now: string;
  /** The file in commits and stash entries. */
  readonly committed: readonly string[];
  /** Versions before the kept one, as far as they are known. */
  readonly earlier: readonly string[];
}

/**
 * Returns how many lines are lost that only this version has. `isLoose`: a line that is in the file with other blanks, quotes,
 * brackets or ends is not lost: formatters change those.
 */
export function linesLost({ kept, now, committed }: Texts, isLoose: boolean): number {
  const lost = missing(ownLines(kept, committed), linesOf(now));
  if (!isLoose || lost.length === 0) return lost.length;
  const left = bare(now);
  return lost.filter(line => bare(line) !== "" && !left.includes(bare(line))).length;
}

/** Of so few lines all may be edited at once. */
const fewLines = 5;

/**
 * Whether somebody edited the file by hand: each lost line has a new one in its place, and some of the kept work is left, if
 * it was more than a few lines. An editor that writes an old text loses lines and brings none, or those that were there before.
 */
export function isEditByHand({ kept, now, committed, earlier }: Texts): boolean {
  if (earlier.includes(now)) return false;
  const own = ownLines(kept, committed);
  const lost = missing(own, linesOf(now));
  const known = new Set([...committed, ...earlier].flatMap(linesOf));
  const added = missing(linesOf(now), linesOf(kept)).filter(line => !known.has(line));
  return lost.length <= added.length && (lost.length < own.length || own.length <= fewLines);
}

/** The lines that no commit has. */
function ownLines(kept: string, committed: readonly string[]): readonly string[] {
  const known = new Set(committed.flatMap(linesOf));
  return linesOf(kept).filter(line => !known.has(line));
}

/** The lines of one text that another does not have, or not as often. */
function missing(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter(line => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** Lines without what stands for their end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** What a formatter leaves as it is. */
function bare(text: string): string {
  return text.replace(/[\s"'`;,()[\]{}]+/g, "");
}
