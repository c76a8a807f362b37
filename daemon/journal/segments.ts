/** Reads all segments of a journal at a start. */

import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { Entry } from "../core/tables/entries.ts";
import { entriesIn, isIntact, Lines } from "./batch.ts";
import {
  compareSegments,
  type Disk,
  type DiskFile,
  isNoSpace,
  type JournalFiles,
  journalFiles,
  type ManifestName,
  type SegmentName,
  segmentName,
  synced,
} from "./disk.ts";
import { type Found, JournalDamaged } from "./journal.ts";
import { KnownNames } from "./short-records.ts";

// Reads segments, and finds torn and damaged lines. A line is `crc32 json`: eight hexadecimal digits over the bytes of the
// JSON, then the JSON. The JSON is a batch of entries (batch.ts), or one entry as earlier versions wrote it. A line without
// its newline does not count.

interface Scan {
  /** The last entry's seq; one less than the first expected if the segment is empty. */
  readonly last: number;
  /** Bytes up to the end of the last entry. */
  readonly goodBytes: number;
  /** Bytes of the entries after `after`. */
  readonly newBytes: number;
  /** Bytes after the last entry, if an interrupted write explains them. */
  readonly tornBytes: number;
  readonly fault: Fault | null;
}

interface Fault {
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
    const entries = decode(bytes, start, end, known);
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
 * Returns the fault of the line at the window's start, torn or not. An interrupted write is whole up to some byte; after it
 * the file has nothing, zeros, or old content of the disk. So no further entry begins in it, and it is no longer than one
 * write. Any other fault is damage to entries that may have been acknowledged.
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

/**
 * The segments of a directory as one log. Each segment is synced before the next one is created. So a crash or power cut can
 * tear only the last one, at its end, and only by one write. A fault elsewhere is damage, and so is a log that ends before
 * its manifest says. The start then stops rather than drop acknowledged entries.
 */
export interface Chain {
  readonly files: JournalFiles;
  /** The last stored entry; 0 if there is none. */
  readonly last: number;
  /** Bytes of the entries after `after`. */
  readonly newBytes: number;
  /** The last segment, and the end of its last entry. */
  readonly tail: { readonly path: string; readonly goodBytes: number; readonly tornBytes: number } | null;
}

/**
 * Hands the entries after `after` to `found` as it reads them, in order; throws `JournalDamaged` with file and line.
 * Changes nothing.
 */
export function readChain(disk: Disk, dir: string, after: number, found: Found): Chain {
  const files = journalFiles(disk, dir);
  const needed = neededSegments(files.segments, after);
  let last = after;
  let newBytes = 0;
  let behindBytes = needed.reduce((sum, { name }) => sum + (disk.size(join(dir, name)) ?? 0), 0);
  let tail: Chain["tail"] = null;
  checkLastSegment(dir, files);
  checkSuccessors(disk, dir, files.segments);
  checkBegin(dir, files, needed[0], after);
  for (const [i, segment] of needed.entries()) {
    const path = join(dir, segment.name);
    if (i > 0 && segment.first !== last + 1) {
      throw damaged(dir, `${path} begins with entry ${segment.first}, but entry ${last + 1} comes next`);
    }
    const scan = scanSegment(disk.parts(path), segment.first, after, (entry, end) =>
      found(entry, behindBytes - end),
    );
    if (scan.fault !== null && !(scan.fault.torn && i === needed.length - 1)) {
      throw damaged(dir, `${path}: line ${scan.fault.line} ${scan.fault.reason}`);
    }
    last = scan.last;
    newBytes += scan.newBytes;
    behindBytes -= scan.goodBytes;
    tail = { path, goodBytes: scan.goodBytes, tornBytes: scan.tornBytes };
  }
  if (last < after) {
    throw damaged(dir, `the log ends with entry ${last}, but the snapshot holds entries up to ${after}`);
  }
  for (const manifest of files.manifests) {
    if (manifest.durable <= last) continue;
    const what = `the log ends with entry ${last}, but entries up to ${manifest.durable} were safe on disk`;
    throw damaged(dir, what, manifest);
  }
  return { files, last, newBytes, tail };
}

/** Segments that may hold entries after `after`, and always the last one. */
function neededSegments(segments: readonly SegmentName[], after: number): readonly SegmentName[] {
  const behind = segments.findLastIndex(segment => segment.first <= after + 1);
  return segments.slice(Math.max(behind, 0));
}

/** Throws if the last segment that a manifest names is missing: only a later segment may replace it. */
function checkLastSegment(dir: string, { segments, manifests }: JournalFiles): void {
  const there = segments.at(-1);
  const manifest = manifests.at(-1);
  if (manifest === undefined || (there !== undefined && compareSegments(there, manifest) >= 0)) return;
  const path = join(dir, segmentName(manifest.epoch, manifest.first));
  throw damaged(dir, `its last segment ${path} is missing, with entries from ${manifest.first} on`, manifest);
}

/** Throws if two segments begin with the same entry: two daemons wrote at once. */
function checkSuccessors(disk: Disk, dir: string, segments: readonly SegmentName[]): void {
  for (const [i, { name, first }] of segments.entries()) {
    const next = segments[i + 1];
    if (next === undefined || next.first > first) continue;
    const path = join(dir, name);
    if (next.first === first && (disk.size(path) ?? 0) === 0) continue;
    throw damaged(
      dir,
      `entry ${next.first} is both in ${path} and in ${next.name}: two daemons wrote at once`,
    );
  }
}

function checkBegin(dir: string, files: JournalFiles, first: SegmentName | undefined, after: number): void {
  const next = after + 1;
  if (first === undefined) {
    if (after === 0) return;
    throw damaged(dir, `there is a snapshot of entry ${after}, but no log`);
  }
  if (first.first <= next) return;
  const missing = `entries ${next} to ${first.first - 1} are missing: the log begins with ${first.name}`;
  const [newest] = files.snapshots;
  if (newest === undefined || newest.seq <= after) throw damaged(dir, missing);
  throw damaged(dir, `${missing}, and ${join(dir, newest.name)} is damaged`);
}

/** With `manifest`, the error offers to remove that file: a start without it accepts the remaining log. */
function damaged(dir: string, what: string, manifest?: ManifestName): JournalDamaged {
  const without =
    manifest === undefined ? "" : `. To go on without what is missing, remove ${join(dir, manifest.name)}`;
  return new JournalDamaged(
    `the journal is damaged: ${what}. To save what can be read: kite repair. Or restore ${dir} from a backup, or move it away to begin with an empty store: kite up --empty${without}`,
  );
}

// Appends to the journal's current segment.

/** A write failed and its remains could not be cut off: the content of the file is unknown. */
export class TailUnknown extends Error {
  override readonly name = "TailUnknown";
}

/** The segment that the journal appends to. Invariant: its content ends with the last complete write. */
export class SegmentWriter {
  readonly name: string;
  readonly #path: string;
  readonly #file: DiskFile;
  #size = 0;
  #unsynced = false;

  private constructor(dir: string, name: string, file: DiskFile) {
    this.name = name;
    this.#path = join(dir, name);
    this.#file = file;
  }

  /** Creates a segment; once this resolves its name survives a power cut. EEXIST if it exists, else `SyncFailed`. */
  static async create(disk: Disk, dir: string, epoch: number, first: number): Promise<SegmentWriter> {
    const name = segmentName(epoch, first);
    const file = disk.create(join(dir, name));
    try {
      await synced(file.syncAll());
      await synced(disk.syncDir(dir));
    } catch (error) {
      file.close();
      throw error;
    }
    return new SegmentWriter(dir, name, file);
  }

  get size(): number {
    return this.#size;
  }

  /** Whether data was written or cut since the last sync began. */
  get unsynced(): boolean {
    return this.#unsynced;
  }

  /**
   * Appends all of `data`; if there is no space, appends nothing and returns false. Throws any other failure, with
   * nothing appended unless it is `TailUnknown`.
   */
  append(data: Buffer): boolean {
    let failure: unknown = null;
    this.#unsynced = true;
    try {
      const written = this.#file.append(data);
      if (written === data.length) {
        this.#size += written;
        return true;
      }
    } catch (error) {
      failure = error;
    }
    this.#cutBack();
    if (failure !== null && !isNoSpace(failure)) throw failure;
    return false;
  }

  /** Whether a start would find this segment at its path. False if the user has no right to look. */
  get isInPlace(): boolean {
    try {
      return this.#file.isAt(this.#path, this.#size);
    } catch {
      // The daemon has no right to read the folder: a start could not read it either.
      return false;
    }
  }

  /** Makes earlier appends durable; throws `SyncFailed`. */
  async sync(): Promise<void> {
    this.#unsynced = false;
    await synced(this.#file.syncData());
  }

  close(): void {
    this.#file.close();
  }

  #cutBack(): void {
    try {
      this.#file.truncate(this.#size);
    } catch (error) {
      throw new TailUnknown(`a write to ${this.name} failed and could not be undone`, { cause: error });
    }
  }
}
