import { crc32 } from "node:zlib";
import { limits } from "../../protocol/limits.ts";
import type { Entry } from "../core/commands.ts";

/**
 * A segment is lines `crc32 json`: eight hexadecimal digits over the bytes of the JSON, a space, one entry.
 * An entry whose newline is missing is not there.
 */
export function encodeEntry(entry: Entry): string {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
}

/** CRC-32 as it stands in a line; `from` is that of the bytes before. */
export function checksum(data: string | Buffer): string {
  return hex(crc32(data));
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

export interface Scan {
  /** The last entry's seq; one less than the first expected where there is none. */
  readonly last: number;
  /** Bytes up to the end of the last entry. */
  readonly goodBytes: number;
  /** Of these, the bytes of entries after `after`. */
  readonly newBytes: number;
  readonly fault: Fault | null;
}

export interface Fault {
  /** Counted from 1. */
  readonly line: number;
  /** What is wrong, as the end of "line 7 ...". */
  readonly reason: string;
  /** What one write leaves that a crash or a power cut interrupted. */
  readonly torn: boolean;
}

/**
 * Reads a segment whose first entry is `first`, and puts its entries after `after` into `entries`. Checksums of
 * the others are verified, nothing else of them. Stops at the first fault.
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

/** Whether `bytes[start, end)` is a checksum, a space, and what fits the checksum. */
export function isIntact(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 10 || bytes[start + 8] !== 0x20) return false;
  return bytes.toString("latin1", start, start + 8) === checksum(bytes.subarray(start + 9, end));
}

/**
 * A write that was interrupted is whole up to some byte; from there on nothing of it is in the file, or zeros, or
 * whatever the disk had there. So no further entry begins in it, and it is no longer than one write. Else what is
 * there was garbled later, or by something else, and may have been acknowledged.
 */
function faultAt(bytes: Buffer, start: number, newline: number, line: number): Fault {
  const reason = newline === -1 ? "is not complete" : "does not fit its checksum";
  if (bytes.length - start > limits.recordBytes) {
    return { line, reason: `${reason}, and what is left from there is longer than one write`, torn: false };
  }
  // Its own beginning may be intact: a checksum, then this.
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
    // The checksum fits, so this was written so: not an entry of any version of Kite.
    return null;
  }
}

/** The outer shape; what the command holds is the core's business, under the rules level of its time. */
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
