/**
 * Reads segments, and finds torn and damaged lines. A line is `crc32 json`, with eight hexadecimal digits over the bytes
 * of the JSON: a batch of entries (batch.ts), or one entry as earlier versions wrote it. A line without its newline does
 * not count.
 */
import { limits } from "../../protocol/limits.ts";
import type { Entry } from "../core/tables/entries.ts";
import { entriesIn } from "./format/batch.ts";
import { isIntact } from "./format/checksum.ts";
import { KnownNames } from "./format/known-names.ts";
import { LeanBatches } from "./format/lean-batch.ts";
import { Lines } from "./format/lines.ts";

export interface Scan {
  /** The last entry's seq; one less than the first expected if the segment is empty. */
  readonly last: number;
  /** Bytes up to the end of the last entry. */
  readonly goodBytes: number;
  /** Bytes of the entries after `after`. */
  readonly newBytes: number;
  /** Bytes behind the last entry, if an interrupted write explains them. */
  readonly tornBytes: number;
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
 * Reads a segment whose first entry is `first`, and hands its entries after `after` to `found`, each with the offset
 * where its line ends. Stops at the first fault.
 */
export function scanSegment(
  parts: Iterable<Buffer>,
  first: number,
  after: number,
  found: (entry: Entry, end: number) => void,
): Scan {
  const lines = new Lines(parts);
  try {
    return scan(lines, first, after, found);
  } finally {
    lines.close();
  }
}

function scan(lines: Lines, first: number, after: number, found: (entry: Entry, end: number) => void): Scan {
  const known = new KnownNames();
  const lean = new LeanBatches(known);
  let seq = first - 1;
  let goodBytes = 0;
  let newBytes = 0;
  const stop = (fault: Fault | null): Scan => {
    const tornBytes = fault?.torn === true ? lines.bytes.length - lines.start : 0;
    return { last: seq, goodBytes, newBytes, tornBytes, fault };
  };
  for (let line = 1; !lines.isOver; line++) {
    const end = lines.end();
    const { bytes, start } = lines;
    if (end === -1 || !isIntact(bytes, start, end)) return stop(faultAt(lines, line));
    const length = end + 1 - start;
    const entries = lean.entries(bytes, start + 9, end) ?? decode(bytes, start, end, known);
    const begins = entries?.[0]?.seq;
    if (entries === null || begins !== seq + 1) {
      const what = begins === undefined ? "is not an entry" : `holds entry ${begins}`;
      return stop({ line, reason: `${what} where entry ${seq + 1} should be`, torn: false });
    }
    goodBytes += length;
    for (const entry of entries) if (entry.seq > after) found(entry, goodBytes);
    seq += entries.length;
    if (seq > after) newBytes += length;
    lines.pass(end);
  }
  return stop(null);
}

/** Returns the entries of every intact line, whatever is wrong with the lines between them, and counts the others. */
export function intactEntries(bytes: Buffer): { readonly entries: Entry[]; readonly badLines: number } {
  const known = new KnownNames();
  const entries: Entry[] = [];
  let badLines = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    const found = newline !== -1 && isIntact(bytes, start, end) ? decode(bytes, start, end, known) : null;
    if (found === null) badLines += 1;
    else for (const entry of found) entries.push(entry);
    start = end + 1;
  }
  return { entries, badLines };
}

/**
 * Returns the fault of the line at the window's start, torn or not. An interrupted write is whole up to some byte; behind
 * it the file has nothing, zeros, or old content of the disk. So no further entry begins in it, and it is no longer than
 * one write. Any other fault is damage to entries that may have been acknowledged.
 */
function faultAt(lines: Lines, line: number): Fault {
  lines.fill();
  const { bytes, start } = lines;
  const isLong = bytes.length - start > limits.recordBytes;
  // The torn write's own beginning may be intact: a checksum, then this.
  const more = bytes.indexOf(entryBegin, start + 9);
  const reason = lines.hasNewline() ? "does not fit its checksum" : "is not complete";
  if (isLong) {
    return { line, reason: `${reason}, and what is left from there is longer than one write`, torn: false };
  }
  if (more === -1) return { line, reason, torn: true };
  return { line, reason: `${reason}, and further entries begin behind it`, torn: false };
}

const entryBegin = Buffer.from(' {"seq":');

function decode(bytes: Buffer, start: number, end: number, known: KnownNames): readonly Entry[] | null {
  try {
    return entriesIn(JSON.parse(bytes.toString("utf8", start + 9, end)), known);
  } catch {
    // The checksum fits, so the line was written like this: no version of Kite writes such an entry.
    return null;
  }
}
