/**
 * What Kite's folder remembers of its journal, beside the journal's own folder: without it, a journal whose folder went
 * would look like one that never was.
 *
 * A start writes the mark before it serves, and a stop: so before the first answer of a life, and never again until its
 * end. That is enough, because the mark tells two things. Whether there was a journal is true from the first start on. How
 * far it went is only told to people; where the folder is still there, its manifest knows it exactly.
 */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { type Disk, diskCode, nodeDisk } from "./disk.ts";
import { type JournalFiles, journalFiles } from "./file-names.ts";
import { SegmentWriter } from "./segment-writer.ts";

export interface StoreMark {
  readonly storeId: string;
  readonly epoch: number;
  /** The last entry when the mark was written. */
  readonly seq: number;
}

type Places = Pick<KitePaths, "journal" | "storeMark">;

/** Replaces the mark as a whole; on a full disk the one before stays. Only for the holder of the daemon's lock. */
export function writeStoreMark(
  { storeMark }: Pick<KitePaths, "storeMark">,
  { storeId, epoch, seq }: StoreMark,
  onTrouble: (message: string, error: unknown) => void,
): void {
  const temporary = `${storeMark}.new`;
  try {
    rmSync(temporary, { force: true });
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeSync(file, `${JSON.stringify({ storeId, epoch, seq })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, storeMark);
  } catch (error) {
    onTrouble("how far the journal went could not be noted outside its folder", error);
  }
}

/** Returns the mark of a journal of which nothing is left, or null: a start then finds what there was. */
export function lostStore({ journal, storeMark }: Places, disk: Disk = nodeDisk): StoreMark | null {
  const mark = readStoreMark(storeMark);
  const files = mark === null ? null : filesIn(journal, disk);
  if (files === null) return null;
  const { segments, snapshots, manifests } = files;
  return segments.length + snapshots.length + manifests.length === 0 ? mark : null;
}

/** Says what is missing. */
export function lostStoreText({ journal }: Places, { seq }: StoreMark): string {
  const records = seq === 1 ? "1 record" : `${seq} records`;
  return `the journal is missing: ${journal} held ${records} or more, and nothing of it is there`;
}

/** What to do about it. */
export const lostStoreAdvice =
  "put the folder back if you have it, then: kite up. To give up what it held and begin anew: kite up --empty";

/** Returns what is missing and what to do about it, or null. */
export function lostStoreProblem(places: Places): string | null {
  const lost = lostStore(places);
  return lost === null ? null : `${lostStoreText(places, lost)}; ${lostStoreAdvice}`;
}

/** Returns the epoch of the last start that left its mark; 0: none did. Tokens of it must not come back. */
export function markedEpoch({ storeMark }: Places): number {
  return readStoreMark(storeMark)?.epoch ?? 0;
}

/** Says that an older copy is in the journal's place, or returns null. It is no damage: a start goes on with it. */
export function olderStoreText({ journal, storeMark }: Places, disk: Disk = nodeDisk): string | null {
  const mark = readStoreMark(storeMark);
  const files = mark === null ? null : filesIn(journal, disk);
  // The last segment has the epoch of the last start, and stays.
  if (mark === null || files === null || files.epoch === 0 || files.epoch >= mark.epoch) return null;
  return `the journal in ${journal} is an older copy: the last one went to record ${mark.seq} or further, and what came after the copy was made is missing`;
}

/**
 * Makes an empty journal in place of the lost one. It goes on with a later epoch, so that no token and no cursor of
 * before can come back. Only for the holder of the daemon's lock.
 */
export async function beginEmpty({ journal }: Places, lost: StoreMark, disk: Disk = nodeDisk): Promise<void> {
  disk.mkdir(journal);
  const segment = await SegmentWriter.create(disk, journal, lost.epoch + 1, 1);
  segment.close();
}

/** Returns null if there is something that cannot be read as a folder: a start says why. */
function filesIn(journal: string, disk: Disk): JournalFiles | null {
  try {
    return journalFiles(disk, journal);
  } catch (error) {
    return diskCode(error) === "ENOENT" ? noFiles : null;
  }
}

const noFiles: JournalFiles = { segments: [], snapshots: [], manifests: [], unfinished: [], epoch: 0 };

function readStoreMark(path: string): StoreMark | null {
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() || stat.size > limits.smallFileBytes) return null;
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isStoreMark(value) ? value : null;
  } catch {
    // None, or damaged: it tells nothing, and the next start writes it anew.
    return null;
  }
}

function isStoreMark(value: unknown): value is StoreMark {
  if (typeof value !== "object" || value === null) return false;
  const file = new Map<string, unknown>(Object.entries(value));
  return (
    typeof file.get("storeId") === "string" &&
    ["epoch", "seq"].every(name => Number.isSafeInteger(file.get(name)))
  );
}
