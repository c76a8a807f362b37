/**
 * The lean way to read a batch: straight from the bytes of its line, without the values that JSON would make of them. It
 * knows a batch's head, and the usual lock and unlock of one file, as batch.ts and short-records.ts write them; every
 * other record it hands to JSON.
 *
 * Invariant: what it returns equals what `entriesIn` returns of the line's JSON, or it is null.
 * tests/journal/lean-batch.test.ts compares the two, for damaged lines too.
 */

import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Command, Entry } from "../core/tables/entries.ts";
import { type BatchHead, entryIn, entryOf } from "./batch.ts";
import {
  type KnownFile,
  type KnownNames,
  releaseCode,
  requestCode,
  usualDepth,
  usualYieldMs,
} from "./short-records.ts";

// Values by the bytes that name them: a reader looks one up without making a text.

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
function hashStep(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** Where a session works, as its locks tell it. */
interface Place {
  readonly project: string;
  readonly cwd: string;
}

const [quote, comma, zero, nine, backslash] = [0x22, 0x2c, 0x30, 0x39, 0x5c];
const [list, listEnd, object, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Numbers of so many digits are exact. */
const digitsMax = 15;
const beforeSeq = Buffer.from('{"seq":');
const beforeAt = Buffer.from(',"at":');
const beforeNode = Buffer.from(',"node":');
const beforeEpoch = Buffer.from(',"epoch":');
const beforeN = Buffer.from(',"n":');
const beforeRecords = Buffer.from(',"batch":[');
const nobody: readonly string[] = [];

/** Reads the batches of one journal. */
export class LeanBatches {
  readonly #known: KnownNames;
  readonly #nodes = new ByteNames<string>(([node = ""]) => node);
  readonly #actors: ByteNames<Actor>;
  readonly #files: ByteNames<KnownFile>;
  readonly #places = new ByteNames<Place>(([project = "", cwd = ""]) => ({ project, cwd }));
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** The byte to be read next, and the end of the JSON. */
  #at = 0;
  #end = 0;
  /** What was read is not as expected. */
  #isOther = false;

  constructor(known: KnownNames) {
    this.#known = known;
    this.#actors = new ByteNames(([session = ""]) => known.actor(session));
    this.#files = new ByteNames(([file = "", above = "", before = ""]) => known.file(file, above, before));
  }

  /** Returns the entries of the JSON in `bytes[start, end)`, or null. */
  entries(bytes: Buffer, start: number, end: number): readonly Entry[] | null {
    if (this.#bytes !== bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    this.#at = start;
    this.#end = end;
    this.#isOther = false;
    const head = this.#head();
    if (head === null) return null;
    const entries: Entry[] = [];
    do {
      const entry = this.#usual(head, entries.length) ?? this.#plain(head, entries.length);
      if (entry === null) return null;
      entries.push(entry);
    } while (this.#has(comma));
    return this.#has(listEnd) && this.#has(objectEnd) && this.#at === end ? entries : null;
  }

  #head(): BatchHead | null {
    this.#pass(beforeSeq);
    const seq = this.#number();
    this.#pass(beforeAt);
    const at = this.#number();
    this.#pass(beforeNode);
    const node = this.#named(this.#nodes, 1);
    this.#pass(beforeEpoch);
    const epoch = this.#number();
    this.#pass(beforeN);
    const n = this.#number();
    this.#pass(beforeRecords);
    return node === null || this.#isOther ? null : { seq, at, node, epoch, n };
  }

  /** Reads a usual lock or unlock; null, and nothing is read: the record is another one. */
  #usual(head: BatchHead, place: number): Entry | null {
    const from = this.#at;
    this.#byte(list);
    const later = this.#number();
    this.#byte(comma);
    const beyond = this.#number();
    this.#byte(comma);
    const code = this.#number();
    this.#byte(comma);
    const command = this.#isOther ? null : this.#command(code);
    this.#byte(listEnd);
    if (command !== null && !this.#isOther) return entryOf(head, place, later, beyond, command);
    this.#at = from;
    this.#isOther = false;
    return null;
  }

  #command(code: number): Command | null {
    if (code !== requestCode && code !== releaseCode) return null;
    const actor = this.#named(this.#actors, 1);
    this.#byte(comma);
    const file = this.#named(this.#files, 3);
    if (actor === null || file === null) return null;
    if (code === releaseCode) return { type: "lock_release", actor, files: file.names };
    this.#byte(comma);
    const place = this.#named(this.#places, 2);
    this.#byte(comma);
    const wallMs = this.#number();
    return place === null ? null : usualRequest(actor, file, place, wallMs);
  }

  /** Reads a record as JSON. */
  #plain(head: BatchHead, place: number): Entry | null {
    const from = this.#at;
    this.#skipRecord();
    try {
      return entryIn(JSON.parse(this.#bytes.toString("utf8", from, this.#at)), head, place, this.#known);
    } catch {
      // What is wrong with it is for the plain way to say.
      return null;
    }
  }

  /** Goes on behind the bracket that closes the one here. */
  #skipRecord(): void {
    const bytes = this.#bytes;
    let depth = 0;
    for (let at = this.#at; at < this.#end; at += 1) {
      const byte = bytes[at];
      if (byte === quote) at = endOfText(bytes, at, this.#end);
      else if (byte === list || byte === object) depth += 1;
      else if (byte === listEnd || byte === objectEnd) depth -= 1;
      if (depth > 0) continue;
      this.#at = at + 1;
      return;
    }
    this.#at = this.#end;
  }

  /** Reads so many texts, with a byte between two, and returns what they name: JSON judges new names, once. */
  #named<Value>(names: ByteNames<Value>, count: number): Value | null {
    if (this.#isOther) return null;
    const [bytes, view, from, end] = [this.#bytes, this.#view, this.#at, this.#end - 4];
    let hash = 0;
    let at = from;
    for (let left = count; ; at += 1) {
      if (bytes[at] !== quote) return this.#other();
      for (at += 1; at <= end; at += 4) {
        const word = view.getInt32(at, true);
        const found = quoteIn(word);
        hash = hashStep(hash, found === -1 ? word : word & ~(-1 << found));
        if (found === -1) continue;
        at += found >> 3;
        break;
      }
      if (at > end) return this.#other();
      at += 1;
      left -= 1;
      if (left === 0) break;
    }
    this.#at = at;
    return names.find(view, from, at, hash) ?? this.#kept(names, from, hash);
  }

  #kept<Value>(names: ByteNames<Value>, from: number, hash: number): Value | null {
    const bytes = this.#bytes.subarray(from, this.#at);
    try {
      const texts: readonly string[] = JSON.parse(`[${bytes.toString()}]`);
      return names.keep(bytes, hash, texts);
    } catch {
      // No comma between texts, a byte that no text has, or a quote that ends none: that leaves the last one open.
      return this.#other();
    }
  }

  /** Reads a number; its digits are few, so that it is exact. */
  #number(): number {
    const [bytes, from] = [this.#bytes, this.#at];
    let number = 0;
    let at = from;
    for (; at < this.#end; at += 1) {
      const byte = bytes[at] as number;
      if (byte < zero || byte > nine) break;
      number = number * 10 + byte - zero;
    }
    this.#at = at;
    const digits = at - from;
    if (digits === 0 || digits > digitsMax || (digits > 1 && bytes[from] === zero)) this.#other();
    return number;
  }

  #byte(expected: number): void {
    if (!this.#has(expected)) this.#isOther = true;
  }

  #has(expected: number): boolean {
    if (this.#bytes[this.#at] !== expected) return false;
    this.#at += 1;
    return true;
  }

  #pass(expected: Buffer): void {
    for (const byte of expected) this.#byte(byte);
  }

  #other(): null {
    this.#isOther = true;
    return null;
  }
}

/** Returns where the text ends that begins at `start`. */
function endOfText(bytes: Buffer, start: number, end: number): number {
  let at = start + 1;
  for (; at < end && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
  return at;
}

function usualRequest(actor: Actor, { refs }: KnownFile, { project, cwd }: Place, wallMs: number): Command {
  return {
    type: "lock_request",
    actor,
    files: refs,
    single: true,
    kind: "explicit",
    waitMs: 0,
    depth: usualDepth,
    placeMs: 0,
    detach: false,
    progress: false,
    prompt: null,
    flight: null,
    yieldMs: usualYieldMs,
    ancestors: nobody,
    bound: null,
    project,
    cwd,
    wallMs,
  };
}

/** Returns the bits before the first quote of four bytes, or -1 if they have none. */
function quoteIn(word: number): number {
  const without = word ^ 0x22222222;
  const found = (without - 0x01010101) & ~without & 0x80808080;
  // The lowest bit is of the first quote; higher ones may be wrong.
  return found === 0 ? -1 : 24 - (Math.clz32(found & -found) & 24);
}
