/** The format of a segment: encodes entries, and finds torn and damaged ones. */
import { crc32 } from "node:zlib";
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Entry } from "../core/commands.ts";

/**
 * Returns an entry as a line of a segment: `crc32 json`, with eight hexadecimal digits over the bytes of the JSON. An
 * entry without its newline does not count.
 */
export function encodeEntry(entry: Entry): string {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
}

/** Returns a line's CRC-32; `from` is that of the preceding bytes. */
export function checksum(data: string | Buffer): string {
  return hex(crc32(data));
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

export interface Scan {
  /** The last entry's seq; one less than the first expected if the segment is empty. */
  readonly last: number;
  /** Bytes up to the end of the last entry. */
  readonly goodBytes: number;
  /** Bytes of the entries after `after`. */
  readonly newBytes: number;
  readonly fault: Fault | null;
}

export interface Fault {
  /** Line number, from 1. */
  readonly line: number;
  /** The fault, as the end of "line 7 ...". */
  readonly reason: string;
  /** Whether an interrupted write (a crash, a power cut) explains it. */
  readonly torn: boolean;
}

/**
 * Reads a segment whose first entry is `first`, and adds its entries after `after` to `entries`. Of earlier entries it
 * checks only the checksums. Stops at the first fault.
 */
export function scanSegment(bytes: Buffer, first: number, after: number, entries: Entry[]): Scan {
  let seq = first - 1;
  let newBytes = 0;
  let start = 0;
  const end = (fault: Fault | null): Scan => ({ last: seq, goodBytes: start, newBytes, fault });
  for (let line = 1; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start);
    if (newline === -1 || !isIntact(bytes, start, newline)) return end(faultAt(bytes, start, newline, line));
    seq += 1;
    if (seq > after) {
      const entry = decode(bytes, start, newline);
      if (entry?.seq !== seq) {
        seq -= 1;
        const found = entry === null ? "is not an entry" : `holds entry ${entry.seq}`;
        return end({ line, reason: `${found} where entry ${seq + 1} should be`, torn: false });
      }
      entries.push(entry);
      newBytes += newline + 1 - start;
    }
    start = newline + 1;
  }
  return end(null);
}

/** Returns the entries of every intact line, whatever is wrong with the lines between them, and counts the others. */
export function intactEntries(bytes: Buffer): { readonly entries: Entry[]; readonly badLines: number } {
  const entries: Entry[] = [];
  let badLines = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    const entry = newline !== -1 && isIntact(bytes, start, end) ? decode(bytes, start, end) : null;
    if (entry === null) badLines += 1;
    else entries.push(entry);
    start = end + 1;
  }
  return { entries, badLines };
}

/** Whether `bytes[start, end)` is a checksum, a space, and text with that checksum. */
export function isIntact(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 10 || bytes[start + 8] !== 0x20) return false;
  return bytes.toString("latin1", start, start + 8) === checksum(bytes.subarray(start + 9, end));
}

/**
 * Returns the fault at `start`, torn or not. An interrupted write is whole up to some byte; behind it the file has
 * nothing, zeros, or old content of the disk. So no further entry begins in it, and it is no longer than one write. Any
 * other fault is damage to entries that may have been acknowledged.
 */
function faultAt(bytes: Buffer, start: number, newline: number, line: number): Fault {
  const reason = newline === -1 ? "is not complete" : "does not fit its checksum";
  if (bytes.length - start > limits.recordBytes) {
    return { line, reason: `${reason}, and what is left from there is longer than one write`, torn: false };
  }
  // The torn write's own beginning may be intact: a checksum, then this.
  const more = bytes.indexOf(entryBegin, start + 9);
  if (more === -1) return { line, reason, torn: true };
  return { line, reason: `${reason}, and further entries begin behind it`, torn: false };
}

const entryBegin = Buffer.from(' {"seq":');

function decode(bytes: Buffer, start: number, end: number): Entry | null {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", start + 9, end));
    return isEntry(value) ? value : null;
  } catch {
    // The checksum fits, so the line was written like this: no version of Kite writes such an entry.
    return null;
  }
}

/** Checks the outer form only; the core checks the command under its rules level. */
function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || typeof value["seq"] !== "number" || typeof value["at"] !== "number") return false;
  const { origin, command } = value;
  if (!isObject(origin) || !isObject(command)) return false;
  const { node, epoch, n } = origin;
  return (
    typeof node === "string" &&
    typeof epoch === "number" &&
    typeof n === "number" &&
    typeof command["type"] === "string"
  );
}
