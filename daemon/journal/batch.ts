/**
 * The JSON of a batch: the entries of one write, with what they share told once.
 *
 *     {"seq":7,"at":T,"node":"local","epoch":3,"n":21,"batch":[RECORD,...]}
 *
 * `seq`, `at` and `n` are the first entry's. A record is a list of three. The first is by how much its `at` differs from the
 * first entry's. The second is by how much its `n` differs, beyond its place in the batch. The third is its command, as JSON
 * or in the short form.
 */

import { crc32 } from "node:zlib";
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Command, Entry } from "../core/tables/entries.ts";
import { type KnownNames, lengthen, shorten } from "./short-records.ts";

const batchEnd = "]}\n";

/** What the entries of a batch share, and the numbers of the first one. */
interface BatchHead {
  readonly seq: number;
  readonly at: number;
  readonly node: string;
  readonly epoch: number;
  readonly n: number;
}

function batchHead({ seq, at, origin: { node, epoch, n } }: Entry): string {
  return `{"seq":${seq},"at":${at},"node":${JSON.stringify(node)},"epoch":${epoch},"n":${n},"batch":[`;
}

/** Whether `entry` can stand in a batch that begins with `first`. */
function fitsBatch(first: Entry, entry: Entry): boolean {
  const [a, b] = [first.origin, entry.origin];
  return a.node === b.node && a.epoch === b.epoch && isExact(first.at) && isExact(entry.at);
}

/** Whether differences of such numbers are exact. */
function isExact(at: number): boolean {
  return Number.isSafeInteger(at) && at >= 0;
}

/** Returns the record of `entry`, the one at `place` in a batch that begins with `first`. */
function recordText(first: Entry, entry: Entry, place: number): string {
  const short = shorten(entry.command);
  const beyond = entry.origin.n - first.origin.n - place;
  return `[${entry.at - first.at},${beyond},${short ?? JSON.stringify(entry.command)}]`;
}

/** Returns the entries of a line's JSON: a batch, or the one entry of a line of Kite before batches. Null: neither. */
export function entriesIn(value: unknown, known: KnownNames): readonly Entry[] | null {
  if (!isObject(value) || typeof value["seq"] !== "number" || typeof value["at"] !== "number") return null;
  const { batch } = value;
  if (batch === undefined) return isEntry(value) ? [value] : null;
  const { seq, at, node, epoch, n } = value;
  if (typeof node !== "string" || typeof epoch !== "number" || typeof n !== "number") return null;
  if (!Array.isArray(batch) || batch.length === 0) return null;
  const head = { seq, at, node, epoch, n };
  const entries: Entry[] = [];
  for (let place = 0; place < batch.length; place += 1) {
    const entry = entryIn(batch[place], head, place, known);
    if (entry === null) return null;
    entries.push(entry);
  }
  return entries;
}

/** Returns the entry of the record at `place`, or null if it is none. */
function entryIn(
  record: unknown,
  { seq, at, node, epoch, n }: BatchHead,
  place: number,
  known: KnownNames,
): Entry | null {
  if (!Array.isArray(record)) return null;
  const [later, beyond]: readonly unknown[] = record;
  if (typeof later !== "number" || typeof beyond !== "number") return null;
  const command = commandIn(record, known);
  if (command === null) return null;
  return { seq: seq + place, at: at + later, origin: { node, epoch, n: n + place + beyond }, command };
}

/** Checks the outer form only; the core checks the command under its rules level. */
function commandIn(record: readonly unknown[], known: KnownNames): Command | null {
  const what = record[2];
  if (typeof what === "number") return lengthen(record, 2, known);
  return isObject(what) && typeof what["type"] === "string" ? (what as unknown as Command) : null;
}

function isEntry(value: object): value is Entry {
  const { origin, command } = value as Partial<Entry>;
  if (!isObject(origin) || !isObject(command)) return false;
  const { node, epoch, n } = origin;
  return (
    typeof node === "string" &&
    typeof epoch === "number" &&
    typeof n === "number" &&
    typeof command["type"] === "string"
  );
}

// Checksums of lines: CRC-32 in eight hexadecimal digits.

/** Returns the CRC-32 of `data` as a line has it. */
export function checksum(data: string | Buffer): string {
  return hex(crc32(data));
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

/** Whether `bytes[start, end)` is a checksum, a space, and text with that checksum. */
export function isIntact(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 10 || bytes[start + 8] !== 0x20) return false;
  return digitsAt(bytes, start) === crc32(bytes.subarray(start + 9, end));
}

/** Returns the number that eight lower-case hexadecimal digits stand for, or -1. */
function digitsAt(bytes: Buffer, start: number): number {
  let number = 0;
  for (let i = start; i < start + 8; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) number = number * 16 + byte - 0x30;
    else if (byte >= 0x61 && byte <= 0x66) number = number * 16 + byte - 0x57;
    else return -1;
  }
  return number;
}

// Encodes the entries of one write as one line, into a buffer that is used again.

/** Bytes before a line's JSON: the checksum and a space. */
const checksumBytes = 9;
/** UTF-8 takes at most so many bytes for a UTF-16 unit. */
const unitBytes = 3;

/** What turns the entries of one write into bytes. */
export interface Encoder {
  /** Begins the next write. */
  begin(): void;
  /** Adds an entry; returns false, and adds nothing, if the write would be longer than `bytesMax`. */
  add(entry: Entry, bytesMax: number): boolean;
  /** The bytes of the write, until the next `begin`. */
  end(): Buffer;
}

/** One line for all entries, or several if their origins differ. */
export class BatchEncoder implements Encoder {
  #buffer = Buffer.allocUnsafe(limits.writeBufferBytes);
  #length = 0;
  /** Where the line that is being written begins. */
  #line = 0;
  /** The first entry of that line, and their number. */
  #first: Entry | null = null;
  #count = 0;

  begin(): void {
    this.#length = 0;
    this.#first = null;
    // One long write does not keep its buffer.
    if (this.#buffer.length > limits.writeBufferKeptBytes)
      this.#buffer = Buffer.allocUnsafe(limits.writeBufferBytes);
  }

  add(entry: Entry, bytesMax: number): boolean {
    const first = this.#first;
    if (first === null || !fitsBatch(first, entry)) return this.#open(entry, bytesMax);
    const before = this.#length;
    this.#put(`,${recordText(first, entry, this.#count)}`);
    if (this.#isTooLong(before, bytesMax)) return false;
    this.#count += 1;
    return true;
  }

  end(): Buffer {
    this.#seal();
    return this.#buffer.subarray(0, this.#length);
  }

  /** Begins a line with `entry`. */
  #open(entry: Entry, bytesMax: number): boolean {
    this.#seal();
    const line = this.#length;
    this.#length += checksumBytes;
    this.#put(batchHead(entry) + recordText(entry, entry, 0));
    if (this.#isTooLong(line, bytesMax)) return false;
    this.#line = line;
    this.#first = entry;
    this.#count = 1;
    return true;
  }

  /** Takes back what was put after `before` if the write is too long with it. */
  #isTooLong(before: number, bytesMax: number): boolean {
    if (this.#length + batchEnd.length <= bytesMax) return false;
    this.#length = before;
    return true;
  }

  /** Ends the line that is being written. */
  #seal(): void {
    if (this.#first === null) return;
    this.#first = null;
    this.#put(batchEnd);
    const json = this.#buffer.subarray(this.#line + checksumBytes, this.#length - 1);
    this.#buffer.write(`${hex(crc32(json))} `, this.#line, "latin1");
  }

  #put(text: string): void {
    const needed = this.#length + text.length * unitBytes + batchEnd.length;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(2 * needed);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    this.#length += this.#buffer.write(text, this.#length);
  }
}

// Splits a file that is read piece by piece into lines.

/**
 * A window on a file, of one piece as a rule: a line that goes on in the next piece is put together with it. `bytes`
 * from `start` on are what follows the lines passed so far.
 */
export class Lines {
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  readonly #parts: Iterator<Buffer>;

  constructor(parts: Iterable<Buffer>) {
    this.#parts = parts[Symbol.iterator]();
  }

  /** Whether the file ends at `start`. */
  get isOver(): boolean {
    while (this.start >= this.bytes.length) if (!this.#readMore()) return true;
    return false;
  }

  /** The index in `bytes` of the newline that ends the line at `start`; -1: there is none within one write's length. */
  end(): number {
    let from = this.start;
    for (;;) {
      const newline = this.bytes.indexOf(0x0a, from);
      if (newline !== -1) return newline;
      from = this.bytes.length - this.start;
      if (from > limits.recordBytes || !this.#readMore()) return -1;
    }
  }

  /** Goes on after the newline at `end`. */
  pass(end: number): void {
    this.start = end + 1;
  }

  /** Reads on until the window holds the rest of the file, or more of it than one write is long. */
  fill(): void {
    while (this.bytes.length - this.start <= limits.recordBytes && this.#readMore());
  }

  /** Whether a newline follows in the rest of the file, however far; nothing can be read after it afterwards. */
  hasNewline(): boolean {
    for (let part = this.bytes.subarray(this.start); ; ) {
      if (part.includes(0x0a)) return true;
      const { done, value } = this.#parts.next();
      if (done === true) return false;
      part = value;
    }
  }

  close(): void {
    this.#parts.return?.();
  }

  /** Puts the next piece after what is left; false at the end of the file. */
  #readMore(): boolean {
    const { done, value } = this.#parts.next();
    if (done === true) return false;
    const left = this.bytes.subarray(this.start);
    this.bytes = left.length === 0 ? value : Buffer.concat([left, value]);
    this.start = 0;
    return true;
  }
}
