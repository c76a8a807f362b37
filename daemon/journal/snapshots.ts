/** Writes, reads and removes snapshot files. */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import { limits } from "../../protocol/limits.ts";
import { checksum, hex, isIntact } from "./batch.ts";
import {
  type Disk,
  type DiskFile,
  diskCode,
  isNoSpace,
  journalFiles,
  type ManifestName,
  manifestName,
  type SnapshotName,
  SyncFailed,
  snapshotName,
  synced,
} from "./disk.ts";
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

/**
 * Records outside the segments how far the log went. Without it, a log whose last segment was removed, or whose end a
 * failing disk garbled, would look like a shorter intact log.
 *
 * The manifest is the name of an empty file; it holds the last segment and the last durable entry. A rename changes
 * both at once, needs no space and no checksum, and cannot be torn.
 *
 * Invariants: it names a segment only once that segment survives a power cut, and an entry only once it is durable. So
 * it may lag behind the log, but never claims more. It is made durable itself when a segment begins; in between it lags
 * by `limits.manifestEntries` at most. An orderly stop leaves it exact.
 */
export class Manifest {
  readonly #disk: Disk;
  readonly #dir: string;
  #name: string | null = null;
  #epoch = 0;
  #first = 0;
  #durable = 0;

  constructor(disk: Disk, dir: string) {
    this.#disk = disk;
    this.#dir = dir;
  }

  /**
   * Names a new segment; `found` are the manifests that a start found and this one replaces. Once this resolves it
   * survives a power cut, unless the disk is full: then the earlier one stays. Throws `SyncFailed` otherwise.
   */
  async begin(epoch: number, first: number, found: readonly ManifestName[] = []): Promise<void> {
    this.#epoch = epoch;
    this.#first = first;
    this.#name ??= found.at(-1)?.name ?? null;
    try {
      this.#put(first - 1);
      for (const { name } of found.slice(0, -1)) this.#unlessGone(() => this.#disk.unlink(this.#path(name)));
    } catch (error) {
      throw new SyncFailed("the journal's manifest could not be written; see the disk's health", {
        cause: error,
      });
    }
    await synced(this.#disk.syncDir(this.#dir));
  }

  /** Entries up to `durable` survive a power cut. Renames once every so many entries, and at the stop (`exactly`). */
  reached(durable: number, exactly = false): void {
    if (durable - this.#durable >= (exactly ? 1 : limits.manifestEntries)) this.#put(durable);
  }

  #put(durable: number): void {
    const name = manifestName(this.#epoch, this.#first, durable);
    try {
      const from = this.#name;
      const renamed =
        from !== null && this.#unlessGone(() => this.#disk.rename(this.#path(from), this.#path(name)));
      if (!renamed) this.#create(name);
    } catch (error) {
      // The earlier name claims less, but nothing wrong.
      if (isNoSpace(error)) return;
      throw error;
    }
    this.#name = name;
    this.#durable = durable;
  }

  /** Returns false if the file no longer exists: another start took it at the same time. */
  #unlessGone(action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (diskCode(error) !== "ENOENT") throw error;
      return false;
    }
  }

  #create(name: string): void {
    try {
      this.#disk.create(this.#path(name)).close();
    } catch (error) {
      if (diskCode(error) !== "EEXIST") throw error;
    }
  }

  #path(name: string): string {
    return join(this.#dir, name);
  }
}
