/** How many lines a version added and took away, against the one before it. Pure. */
import { limits } from "../../protocol/limits.ts";

export interface LineCounts {
  readonly added: number;
  readonly taken: number;
}

/** The bytes in which two contents differ: from `start` to an end in each. */
export interface Difference {
  readonly start: number;
  readonly endBefore: number;
  readonly endAfter: number;
}

const newline = 0x0a;
/** Bytes compared at once. */
const piece = 4_096;

/** Returns the one range of bytes outside of which both contents are equal. */
export function differenceOf(before: Buffer, after: Buffer): Difference {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start + piece <= shorter && before.compare(after, start, start + piece, start, start + piece) === 0)
    start += piece;
  while (start < shorter && before[start] === after[start]) start += 1;
  let [endBefore, endAfter] = [before.length, after.length];
  for (;;) {
    const [a, b] = [endBefore - piece, endAfter - piece];
    if (a < start || b < start || before.compare(after, b, endAfter, a, endBefore) !== 0) break;
    [endBefore, endAfter] = [a, b];
  }
  while (endBefore > start && endAfter > start && before[endBefore - 1] === after[endAfter - 1]) {
    endBefore -= 1;
    endAfter -= 1;
  }
  return { start, endBefore, endAfter };
}

/** Returns the counts; null for contents that are no text. A last line without an end counts as a line. */
export function lineCounts(before: Buffer, after: Buffer): LineCounts | null {
  const { start, endBefore, endAfter } = differenceOf(before, after);
  const from = start === 0 ? 0 : before.lastIndexOf(newline, start - 1) + 1;
  // What follows is equal in both, so that a line that goes on there ends at the same distance.
  const isWhole = isAtLine(before, endBefore) && isAtLine(after, endAfter);
  const end = isWhole ? 0 : before.indexOf(newline, endBefore);
  const rest = isWhole ? 0 : (end === -1 ? before.length : end + 1) - endBefore;
  const a = before.subarray(from, endBefore + rest);
  const b = after.subarray(from, endAfter + rest);
  if (a.includes(0) || b.includes(0)) return null;
  const [linesBefore, linesAfter] = [linesIn(a), linesIn(b)];
  const equal = equalLines(linesBefore, linesAfter);
  return { added: linesAfter.length - equal, taken: linesBefore.length - equal };
}

/** Whether a line begins at `end`. */
function isAtLine(content: Buffer, end: number): boolean {
  return end === 0 || content[end - 1] === newline;
}

function linesIn(content: Buffer): readonly string[] {
  if (content.length === 0) return [];
  const lines = content.toString("latin1").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** How many lines stay: in their order, or of long parts whatever their order is. */
function equalLines(before: readonly string[], after: readonly string[]): number {
  if (before.length * after.length > limits.rescueDiffCells) return equalInAnyOrder(before, after);
  // The longest common subsequence, a row at a time.
  let row = new Uint32Array(after.length + 1);
  for (const line of before) {
    const next = new Uint32Array(after.length + 1);
    for (const [i, other] of after.entries())
      next[i + 1] = line === other ? (row[i] ?? 0) + 1 : Math.max(next[i] ?? 0, row[i + 1] ?? 0);
    row = next;
  }
  return row.at(-1) ?? 0;
}

function equalInAnyOrder(before: readonly string[], after: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of before) left.set(line, (left.get(line) ?? 0) + 1);
  let equal = 0;
  for (const line of after) {
    const count = left.get(line) ?? 0;
    if (count === 0) continue;
    left.set(line, count - 1);
    equal += 1;
  }
  return equal;
}
