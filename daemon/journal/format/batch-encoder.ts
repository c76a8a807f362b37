/** Encodes the entries of one write as one line, into a buffer that is used again. */
import { crc32 } from "node:zlib";
import { limits } from "../../../protocol/limits.ts";
import type { Entry } from "../../core/tables/entries.ts";
import { batchEnd, batchHead, fitsBatch, recordText } from "./batch.ts";
import { hex } from "./checksum.ts";

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
