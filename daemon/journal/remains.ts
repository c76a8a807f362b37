/** Reads what is left of a damaged journal, and puts a whole one in its place. */

import { copyFileSync, linkSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Entry } from "../core/tables/entries.ts";
import { type Disk, type JournalFiles, journalFiles, nodeDisk } from "./disk.ts";
import { JournalDamaged, type Snapshot } from "./journal.ts";
import { type Chain, intactEntries, readChain, SegmentWriter } from "./segments.ts";
import { readSnapshot, writeSnapshot } from "./snapshots.ts";

/** Everything in a journal's directory that can be read, however damaged the rest is. */
export interface Remains {
  /** The highest epoch that any file names. */
  readonly epoch: number;
  /** Intact snapshots, newest first. */
  readonly snapshots: readonly Snapshot[];
  /** The bytes of damaged snapshots, newest first, without their last line. */
  readonly damagedSnapshots: readonly Snapshot[];
  /** By `seq`. If two entries have one `seq`, this has the one of the later epoch. */
  readonly entries: ReadonlyMap<number, Entry>;
  /** Lines that are no entries. */
  readonly badLines: number;
  /** The highest `seq` that the log is known to have reached. */
  readonly lastSeq: number;
}

/** Reads the journal; changes nothing. */
export function readRemains(dir: string, disk: Disk = nodeDisk): Remains {
  const files = journalFiles(disk, dir);
  const snapshots: Snapshot[] = [];
  const damagedSnapshots: Snapshot[] = [];
  for (const name of files.snapshots) {
    const bytes = readSnapshot(disk, dir, name);
    if (bytes !== null) snapshots.push({ seq: name.seq, bytes });
    else damagedSnapshots.push({ seq: name.seq, bytes: withoutLastLine(disk.read(join(dir, name.name))) });
  }
  const entries = new Map<number, Entry>();
  let badLines = 0;
  for (const { name } of files.segments) {
    const found = intactEntries(disk.read(join(dir, name)));
    badLines += found.badLines;
    for (const entry of found.entries) entries.set(entry.seq, entry);
  }
  let lastSeq = 0;
  for (const { seq } of files.snapshots) lastSeq = Math.max(lastSeq, seq);
  for (const { durable } of files.manifests) lastSeq = Math.max(lastSeq, durable);
  for (const seq of entries.keys()) lastSeq = Math.max(lastSeq, seq);
  return { epoch: files.epoch, snapshots, damagedSnapshots, entries, badLines, lastSeq };
}

/** Returns the `seq` of the last entry before the first one that is lost; 0: not even a beginning is left. */
export function wholeUntil({ snapshots, entries }: Remains): number {
  let seq = snapshots[0]?.seq ?? 0;
  while (entries.has(seq + 1)) seq += 1;
  return seq;
}

function withoutLastLine(bytes: Buffer): Buffer {
  const newline = bytes.length < 2 ? -1 : bytes.lastIndexOf(0x0a, bytes.length - 2);
  return newline === -1 ? bytes : bytes.subarray(0, newline);
}

/**
 * Keeps the files of `dir` in `copy`, and then makes of `dir` a journal that holds only this snapshot (null: an empty
 * one). Only for the holder of the daemon's lock. A crash at any point leaves a journal that is whole or still damaged,
 * so that this can be done again.
 */
export async function replaceJournal(
  dir: string,
  copy: string,
  epoch: number,
  snapshot: Snapshot | null,
  disk: Disk = nodeDisk,
): Promise<void> {
  const old = journalFiles(disk, dir);
  mkdirSync(copy, { mode: 0o700 });
  const names = [...old.segments, ...old.snapshots, ...old.manifests].map(({ name }) => name);
  for (const name of [...names, ...old.unfinished]) keep(join(dir, name), join(copy, name));
  await disk.syncDir(copy);
  // A new epoch: no token and no cursor of before can come back.
  const next = epoch + 1;
  if (snapshot !== null) await writeSnapshot(disk, dir, next, snapshot.seq, [snapshot.bytes]);
  const segment = await SegmentWriter.create(disk, dir, next, (snapshot?.seq ?? 0) + 1);
  segment.close();
  for (const name of [...names, ...old.unfinished]) disk.unlink(join(dir, name));
  await disk.syncDir(dir);
}

/** A second name needs no space and is as durable as the file; some file systems have none. */
function keep(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

// Inspects a journal for `kite doctor`, without changing it.

/** The content of a journal's directory, for people. */
interface JournalInspection {
  readonly segments: number;
  readonly snapshots: number;
  /** Bytes of segments and snapshots together. */
  readonly bytes: number;
  readonly lastSeq: number;
  /** The epoch of the last start; 0 if there is none. */
  readonly epoch: number;
  /** The damage that prevents a start, or null. */
  readonly damage: string | null;
  /** Problems that do not prevent a start, as sentences, and what of them the next two fields hold. */
  readonly notes: readonly string[];
  /** Paths of damaged snapshots, which no start needs. */
  readonly damagedSnapshots: readonly string[];
  /** Bytes of a torn write at the log's end; while a daemon runs, of a write in progress. */
  readonly tornBytes: number;
}

const nothing: JournalInspection = {
  segments: 0,
  snapshots: 0,
  bytes: 0,
  lastSeq: 0,
  epoch: 0,
  damage: null,
  notes: [],
  damagedSnapshots: [],
  tornBytes: 0,
};

/**
 * Reads everything a start would read, and all snapshots; changes nothing. If a daemon is writing, a torn tail may be a
 * write in progress.
 */
export function inspectJournal(dir: string, disk: Disk = nodeDisk): JournalInspection {
  if (disk.size(dir) === null) return nothing;
  const files = journalFiles(disk, dir);
  const notes: string[] = [];
  const damagedSnapshots: string[] = [];
  const intact = files.snapshots.filter(snapshot => {
    if (readSnapshot(disk, dir, snapshot) !== null) return true;
    damagedSnapshots.push(join(dir, snapshot.name));
    notes.push(`${join(dir, snapshot.name)} is damaged; a start uses the one before it`);
    return false;
  });
  const after = intact[0]?.seq ?? 0;
  const chain = tryChain(disk, dir, after);
  const older = intact[1]?.seq;
  if (older !== undefined && typeof chain !== "string") {
    const fallback = tryChain(disk, dir, older);
    if (typeof fallback === "string") notes.push(`should the newest snapshot fail: ${fallback}`);
  }
  const found = { ...nothing, ...counts(disk, dir, files), epoch: files.epoch, notes, damagedSnapshots };
  if (typeof chain === "string") return { ...found, lastSeq: after, damage: chain };
  const { tail } = chain;
  if (tail !== null && tail.tornBytes > 0) {
    notes.push(
      `the last ${tail.tornBytes} bytes of ${tail.path} are a torn write; the next start cuts them off`,
    );
  }
  return { ...found, lastSeq: chain.last, tornBytes: tail?.tornBytes ?? 0 };
}

function tryChain(disk: Disk, dir: string, after: number): Chain | string {
  try {
    return readChain(disk, dir, after, () => {});
  } catch (error) {
    if (error instanceof JournalDamaged) return error.message;
    throw error;
  }
}

function counts(disk: Disk, dir: string, files: JournalFiles) {
  const names = [...files.segments, ...files.snapshots];
  const bytes = names.reduce((sum, { name }) => sum + (disk.size(join(dir, name)) ?? 0), 0);
  return { segments: files.segments.length, snapshots: files.snapshots.length, bytes };
}
