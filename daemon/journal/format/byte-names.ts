/** Values by the bytes that name them: a reader looks one up without making a text. */
import { limits } from "../../../protocol/limits.ts";

/** A name whose slot and the next ones are taken is not kept, so names made to meet cost no more than this. */
const triesMax = 8;
/** Numbers of a row: the hash of a name, where its bytes begin, and how many they are. */
const rowLength = 3;
/** Bytes that are compared at once, and the shortest name that is kept. */
const wordBytes = 4;

/**
 * The latest names that were kept, `limits.knownNamesMax` of at most `limits.knownNameBytes` each; with one more it
 * begins anew. Invariant: a value is found by the bytes that it was kept for, and by no others.
 */
export class ByteNames<Value> {
  readonly #make: (texts: readonly string[]) => Value;
  /** The numbers of rows, from 1, by the last bits of their hash; 0: none. A power of two, at least twice the rows. */
  #slots = new Int32Array(256);
  #rows = new Int32Array(128 * rowLength);
  #values: Value[] = [];
  /** The bytes of all names. */
  #bytes = new Uint8Array(limits.knownNameBytes);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** `make` returns the value of a name. */
  constructor(make: (texts: readonly string[]) => Value) {
    this.#make = make;
  }

  /** Returns the value kept for the bytes from `start` to `end`, whose hash by `hashStep` is `hash`. */
  find(bytes: DataView, start: number, end: number, hash: number): Value | undefined {
    const [slots, rows] = [this.#slots, this.#rows];
    for (let tries = 0; tries < triesMax; tries += 1) {
      const number = slots[(hash + tries) & (slots.length - 1)] as number;
      if (number === 0) return undefined;
      const row = (number - 1) * rowLength;
      if (rows[row] !== hash || rows[row + 2] !== end - start) continue;
      if (this.#isAt(rows[row + 1] as number, bytes, start, end)) return this.#values[number - 1];
    }
    return undefined;
  }

  /** Makes the value of `texts`, keeps it for bytes that `find` did not find, and returns it. */
  keep(bytes: Uint8Array, hash: number, texts: readonly string[]): Value {
    const value = this.#make(texts);
    if (bytes.length < wordBytes || bytes.length > limits.knownNameBytes) return value;
    if (this.#values.length >= limits.knownNamesMax) this.#clear();
    this.#grow(bytes.length);
    const number = this.#values.length + 1;
    if (!this.#put(number, hash)) return value;
    this.#rows.set([hash, this.#length, bytes.length], this.#values.length * rowLength);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    this.#values.push(value);
    return value;
  }

  #isAt(from: number, bytes: DataView, start: number, end: number): boolean {
    const own = this.#view;
    const last = end - wordBytes;
    const ahead = from - start;
    for (let at = start; at < last; at += wordBytes)
      if (own.getInt32(at + ahead) !== bytes.getInt32(at)) return false;
    return own.getInt32(last + ahead) === bytes.getInt32(last);
  }

  #put(number: number, hash: number): boolean {
    const slots = this.#slots;
    for (let tries = 0; tries < triesMax; tries += 1) {
      const slot = (hash + tries) & (slots.length - 1);
      if (slots[slot] !== 0) continue;
      slots[slot] = number;
      return true;
    }
    return false;
  }

  /** Makes room for one more name of so many bytes. */
  #grow(length: number): void {
    if (this.#length + length > this.#bytes.length) {
      const bytes = new Uint8Array(2 * this.#bytes.length);
      bytes.set(this.#bytes);
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer);
    }
    const count = this.#values.length;
    if (2 * count < this.#slots.length) return;
    const rows = new Int32Array(2 * this.#rows.length);
    rows.set(this.#rows);
    this.#rows = rows;
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (let i = 0; i < count; i += 1) this.#put(i + 1, rows[i * rowLength] as number);
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#values = [];
    this.#length = 0;
  }
}

/** Returns the hash of some bytes and the next four; that of none is 0. */
export function hashStep(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
