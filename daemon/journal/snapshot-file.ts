/** Writes, reads and removes snapshot files. */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Disk, type DiskFile, synced } from "./disk.ts";
import { journalFiles, type SnapshotName, snapshotName } from "./file-names.ts";
import { checksum, hex, isIntact } from "./format/checksum.ts";
import type { Pieces } from "./journal.ts";

/** The journal closed, or broke, while the snapshot was written. */
class SnapshotGivenUp extends Error {
  override readonly name = "SnapshotGivenUp";
}

/**
 * A snapshot is its content, a newline, and one line as in a segment with its `{"seq","length","crc"}`. It is written
 * to a temporary file, synced, and then renamed: the final name holds all or nothing. If the disk itself fails, the
 * checksum shows it. It is given up, and the file removed, as soon as `isWanted` is false.
 */
export async function writeSnapshot(
  disk: Disk,
  dir: string,
  epoch: number,
  seq: number,
  pieces: Pieces,
  isWanted: () => boolean = () => true,
): Promise<void> {
  const path = join(dir, snapshotName(epoch, seq));
  const unfinished = `${path}.tmp`;
  const file = disk.create(unfinished);
  try {
    try {
      const { crc, length } = await appendAll(file, pieces, isWanted);
      const json = JSON.stringify({ seq, length, crc: hex(crc) });
      await appendAll(file, [Buffer.from(`\n${checksum(json)} ${json}\n`)], isWanted);
      await synced(file.syncAll());
    } finally {
      file.close();
    }
    disk.rename(unfinished, path);
  } catch (error) {
    disk.unlink(unfinished);
    throw error;
  }
  await synced(disk.syncDir(dir));
}

/** Returns the content of a snapshot, or null if it is damaged. */
export function readSnapshot(disk: Disk, dir: string, { name, seq }: SnapshotName): Buffer | null {
  const file = disk.read(join(dir, name));
  const end = file.length - 1;
  const newline = end > 0 ? file.lastIndexOf(0x0a, end - 1) : -1;
  if (newline === -1 || file[end] !== 0x0a || !isIntact(file, newline + 1, end)) return null;
  const bytes = file.subarray(0, newline);
  const json = JSON.stringify({ seq, length: bytes.length, crc: checksum(bytes) });
  return file.toString("utf8", newline + 10, end) === json ? bytes : null;
}

/**
 * Removes files that neither the newest `kept` snapshots nor the log after the oldest of them need. With fewer than
 * `kept` snapshots the whole log stays, in case they turn out damaged.
 */
export function prune(disk: Disk, dir: string, kept: number, damaged: ReadonlySet<string>): void {
  const { segments, snapshots } = journalFiles(disk, dir);
  const keep = snapshots.filter(({ name }) => !damaged.has(name)).slice(0, kept);
  for (const snapshot of snapshots) {
    if (!keep.includes(snapshot)) disk.unlink(join(dir, snapshot.name));
  }
  const floor = keep.length < kept ? 0 : (keep.at(-1)?.seq ?? 0);
  for (const [i, { name }] of segments.entries()) {
    const next = segments[i + 1];
    if (next === undefined || next.first > floor + 1) return;
    disk.unlink(join(dir, name));
  }
}

/** Appends piece by piece, so that neither writing nor checksumming a large state blocks the event loop. */
async function appendAll(
  file: DiskFile,
  pieces: Pieces,
  isWanted: () => boolean,
): Promise<{ readonly crc: number; readonly length: number }> {
  let [crc, length] = [0, 0];
  for await (const piece of pieces) {
    length += piece.length;
    for (let start = 0; start < piece.length; ) {
      if (!isWanted()) throw new SnapshotGivenUp("the journal is no longer open: no snapshot was stored");
      const part = piece.subarray(start, start + 1024 * 1024);
      const written = await file.appendLarge(part);
      if (written === 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      crc = crc32(part.subarray(0, written), crc);
      start += written;
    }
  }
  return { crc, length };
}
