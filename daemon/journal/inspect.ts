/** Inspects a journal for `kite doctor`, without changing it. */
import { join } from "node:path";
import { type Disk, nodeDisk } from "./disk.ts";
import { type JournalFiles, journalFiles } from "./file-names.ts";
import { JournalDamaged } from "./journal.ts";
import { type Chain, readChain } from "./segments.ts";
import { readSnapshot } from "./snapshot-file.ts";

/** The content of a journal's directory, for people. */
export interface JournalInspection {
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
