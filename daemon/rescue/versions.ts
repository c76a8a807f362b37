/** The kept versions in memory, by number, by file and by content. */
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
