/** The kept versions in memory, by number, by file and by content. */

import { limits } from "../../protocol/limits.ts";
import type { VersionKind } from "../../protocol/schemas/rescue.ts";

/** Who wrote a version, with the name of that time. */
export interface Author {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
}

/** A version without its content. */
export interface Version {
  /** `v-<n>`. */
  readonly n: number;
  /** Absolute and real. */
  readonly path: string;
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  readonly by: Author | null;
  readonly tool: string | null;
  readonly kind: VersionKind;
  /** Wall time in milliseconds. */
  readonly atMs: number;
  readonly base: string | null;
  readonly sizeBytes: number;
  readonly storedBytes: number;
  readonly mode: number;
  readonly added: number | null;
  readonly taken: number | null;
  readonly asSent: boolean;
  /** SHA-256 of the content in hex. */
  readonly hash: string;
}

/** A version before it has a number. */
export type Draft = Omit<Version, "n" | "hash" | "sizeBytes" | "storedBytes">;

/** `isNew` false: the file's latest version has the content already. */
export interface Kept {
  readonly version: Version;
  readonly isNew: boolean;
}

/** What was removed. */
export interface Removal {
  readonly versions: number;
  readonly contents: number;
  readonly bytes: number;
}

export interface Purged extends Removal {
  /** Paths of other files with versions of the same contents: those stay. */
  readonly alsoIn: readonly string[];
}

export function versionName({ n }: Pick<Version, "n">): string {
  return `v-${n}`;
}

interface Content {
  count: number;
  readonly storedBytes: number;
}

/**
 * Invariants: a number is used once; numbers rise with time; a content counts once in `bytes`, however many versions have it.
 */
export class VersionTable {
  readonly #all = new Map<number, Version>();
  readonly #order = new RisingNumbers(n => this.#all.has(n));
  readonly #byFile = new Map<string, RisingNumbers>();
  readonly #contents = new Map<string, Content>();
  #bytes = 0;
  #setAside = 0;

  get size(): number {
    return this.#all.size;
  }

  get files(): number {
    return this.#byFile.size;
  }

  /** Versions of unknown files. */
  get setAside(): number {
    return this.#setAside;
  }

  /** Bytes of all contents as they are on the disk. */
  get bytes(): number {
    return this.#bytes;
  }

  get(n: number): Version | undefined {
    return this.#all.get(n);
  }

  add(version: Version): void {
    const { n, path, hash, storedBytes } = version;
    this.#all.set(n, version);
    if (version.kind === "set_aside") this.#setAside += 1;
    this.#order.add(n);
    let ofFile = this.#byFile.get(path);
    if (ofFile === undefined) {
      ofFile = new RisingNumbers(one => this.#all.has(one));
      this.#byFile.set(path, ofFile);
    }
    ofFile.add(n);
    const content = this.#contents.get(hash);
    if (content !== undefined) {
      content.count += 1;
      return;
    }
    this.#contents.set(hash, { count: 1, storedBytes });
    this.#bytes += storedBytes;
  }

  /** Removes a version; returns the hash of its content if no other version has that, else null. */
  remove(n: number): string | null {
    const version = this.#all.get(n);
    if (version === undefined) return null;
    this.#all.delete(n);
    if (version.kind === "set_aside") this.#setAside -= 1;
    this.#order.noteRemoved();
    const ofFile = this.#byFile.get(version.path);
    ofFile?.noteRemoved();
    if (ofFile?.size === 0) this.#byFile.delete(version.path);
    const content = this.#contents.get(version.hash);
    if (content === undefined) return null;
    content.count -= 1;
    if (content.count > 0) return null;
    this.#contents.delete(version.hash);
    this.#bytes -= content.storedBytes;
    return version.hash;
  }

  /** Whether a version has this content. */
  has(hash: string): boolean {
    return this.#contents.has(hash);
  }

  storedBytesOf(hash: string): number | null {
    return this.#contents.get(hash)?.storedBytes ?? null;
  }

  /** All versions, or those of a file, with a smaller number than `before`; the latest first. May be interrupted. */
  *latestFirst(
    path: string | null = null,
    before: number = Number.POSITIVE_INFINITY,
  ): Generator<Version, void> {
    const numbers = path === null ? this.#order : this.#byFile.get(path);
    if (numbers === undefined) return;
    for (let n = numbers.before(before); n !== null; n = numbers.before(n)) {
      const version = this.#all.get(n);
      if (version !== undefined) yield version;
    }
  }

  /** All versions, the oldest first. May be interrupted. */
  *oldestFirst(): Generator<Version, void> {
    for (let n = this.#order.after(0); n !== null; n = this.#order.after(n)) {
      const version = this.#all.get(n);
      if (version !== undefined) yield version;
    }
  }

  latestOf(path: string): Version | null {
    for (const version of this.latestFirst(path)) return version;
    return null;
  }

  /** The next version of the same file; null: this is its latest. */
  nextOf({ n, path }: Version): Version | null {
    const next = this.#byFile.get(path)?.after(n) ?? null;
    return next === null ? null : (this.#all.get(next) ?? null);
  }

  /** The version of the same file before this one. */
  previousOf({ n, path }: Pick<Version, "n" | "path">): Version | null {
    const previous = this.#byFile.get(path)?.before(n) ?? null;
    return previous === null ? null : (this.#all.get(previous) ?? null);
  }

  paths(): IterableIterator<string> {
    return this.#byFile.keys();
  }
}

/** Numbers in rising order; removed ones stay in the list until they are the greater part of it. */
class RisingNumbers {
  readonly #isIn: (n: number) => boolean;
  #numbers: number[] = [];
  #removed = 0;

  constructor(isIn: (n: number) => boolean) {
    this.#isIn = isIn;
  }

  get size(): number {
    return this.#numbers.length - this.#removed;
  }

  add(n: number): void {
    const last = this.#numbers.at(-1);
    if (last === undefined || last < n) this.#numbers.push(n);
    else this.#numbers.splice(this.#placeOf(n), 0, n);
  }

  /** One of the numbers is no longer in. */
  noteRemoved(): void {
    this.#removed += 1;
    if (this.#removed * 2 <= this.#numbers.length || this.#removed < 16) return;
    this.#numbers = this.#numbers.filter(this.#isIn);
    this.#removed = 0;
  }

  /** The greatest number below `n`. */
  before(n: number): number | null {
    for (let i = this.#placeOf(n) - 1; i >= 0; i -= 1) {
      const found = this.#numbers[i];
      if (found !== undefined && this.#isIn(found)) return found;
    }
    return null;
  }

  /** The least number above `n`. */
  after(n: number): number | null {
    for (let i = this.#placeOf(n + 1); i < this.#numbers.length; i += 1) {
      const found = this.#numbers[i];
      if (found !== undefined && this.#isIn(found)) return found;
    }
    return null;
  }

  /** The index of the first number that is not below `n`. */
  #placeOf(n: number): number {
    let [from, to] = [0, this.#numbers.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#numbers[middle] ?? 0) < n) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

// What was wiped lately: by which command of whom, whose files, and the versions that bring them back.

export interface WipedFile {
  readonly path: string;
  readonly file: string;
  /** The number of the version that brings it back; null: there is none. */
  readonly version: number | null;
  /** Whose work it was, the latest writer first. */
  readonly writers: readonly Author[];
  readonly lines: number | null;
  /** `gone`: the file is not there any more, whatever took its place. `reverted`: it is as the commit has it. `changed`: it has other lines. */
  readonly how: "gone" | "reverted" | "changed";
}

export interface Wipe {
  /** `r-<n>`. */
  readonly n: number;
  readonly project: string;
  readonly worktree: string;
  readonly by: Author | null;
  /** The command in short form. */
  readonly command: string;
  readonly atMs: number;
  /** At most `limits.rescueWipeFilesMax`; `more` counts the rest. */
  readonly files: readonly WipedFile[];
  readonly more: number;
}

export function wipeName({ n }: Pick<Wipe, "n">): string {
  return `r-${n}`;
}

/** The latest wipes, the oldest first. A version that one of them names outlasts others. */
export class WipeTable {
  readonly #all = new Map<number, Wipe>();
  /** How many wipes name each version. */
  readonly #named = new Map<number, number>();

  get size(): number {
    return this.#all.size;
  }

  add(wipe: Wipe): void {
    this.#all.set(wipe.n, wipe);
    for (const { version } of wipe.files)
      if (version !== null) this.#named.set(version, (this.#named.get(version) ?? 0) + 1);
    for (const oldest of this.#all.values()) {
      if (this.#all.size <= limits.rescueWipesMax) break;
      this.#drop(oldest);
    }
  }

  get(n: number): Wipe | undefined {
    return this.#all.get(n);
  }

  /** Drops those before this time. */
  dropBefore(atMs: number): void {
    for (const wipe of this.#all.values()) {
      if (wipe.atMs >= atMs) return;
      this.#drop(wipe);
    }
  }

  /** Whether a wipe names the version. */
  names(version: number): boolean {
    return this.#named.has(version);
  }

  /** The oldest first. */
  all(): IterableIterator<Wipe> {
    return this.#all.values();
  }

  #drop(wipe: Wipe): void {
    this.#all.delete(wipe.n);
    for (const { version } of wipe.files) {
      if (version === null) continue;
      const count = (this.#named.get(version) ?? 1) - 1;
      if (count === 0) this.#named.delete(version);
      else this.#named.set(version, count);
    }
  }
}

/** The wipe with as many files as one line of the index may have. */
export function withinLine(wipe: Wipe): Wipe {
  let left = limits.rescueLineBytes / 2;
  const files = wipe.files.slice(0, limits.rescueWipeFilesMax).filter(file => {
    left -= Buffer.byteLength(JSON.stringify(file));
    return left > 0;
  });
  return { ...wipe, files, more: wipe.more + wipe.files.length - files.length };
}

// How many lines a version added and took away, against the one before it. Pure.

interface LineCounts {
  readonly added: number;
  readonly taken: number;
}

/** The bytes in which two contents differ: from `start` to an end in each. */
interface Difference {
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
  // The rest is equal in both, so a line that goes on there ends at the same distance.
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
