/** The journal's interface to the file system, and `node:fs` behind it. */

import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { limits } from "../../protocol/limits.ts";

/**
 * The part of the file system that the journal needs, so that tests can replace it by one that loses unsynced writes.
 * Everything throws as `node:fs` does: an Error with a `code`. Files are 0600, directories 0700.
 */
export interface Disk {
  /** Makes a directory with its parents; an existing one is no error. */
  mkdir(dir: string): void;
  /** Names in a directory, unordered. */
  list(dir: string): readonly string[];
  /** Reads a whole regular file; EINVAL for anything else, without waiting for it. */
  read(path: string): Buffer;
  /** Yields a regular file's bytes piece by piece, so that a long one never is in memory as a whole; EINVAL as `read`. */
  parts(path: string): Iterable<Buffer>;
  /** Bytes in a file, or null if it does not exist. */
  size(path: string): number | null;
  /** Creates a file for appending; EEXIST if it exists. */
  create(path: string): DiskFile;
  /** Opens an existing file for appending. */
  open(path: string): DiskFile;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Resolves when names created, renamed or removed in the directory before the call survive a power cut. */
  syncDir(dir: string): Promise<void>;
}

/** An open file. Close it only when none of its promises is pending. */
export interface DiskFile {
  readonly size: number;
  /** Appends and returns the number of bytes written: fewer than given if the disk is full. */
  append(data: string | Buffer): number;
  /** `append` off the event loop, for large data. */
  appendLarge(data: Buffer): Promise<number>;
  /** Cuts the file; the next append begins there. */
  truncate(size: number): void;
  /**
   * Whether `path` still leads to this file, with at least so many bytes: not removed, moved, replaced or cut. Throws
   * if the user has no right to look.
   */
  isAt(path: string, bytes: number): boolean;
  /** Resolves when data written before the call survives a power cut (fdatasync). */
  syncData(): Promise<void>;
  /** As `syncData`, with all metadata (fsync); for a new file. */
  syncAll(): Promise<void>;
  close(): void;
}

const orNothing = { throwIfNoEntry: false } as const;
const fsyncAsync = promisify(fsync);
const fdatasyncAsync = promisify(fdatasync);
const writeAsync = promisify(write);

class NodeFile implements DiskFile {
  readonly #fd: number;
  readonly #device: number;
  readonly #inode: number;

  constructor(path: string, flags: string | number) {
    this.#fd = openSync(path, flags, 0o600);
    const { dev, ino } = fstatSync(this.#fd);
    this.#device = dev;
    this.#inode = ino;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  append(data: string | Buffer): number {
    return typeof data === "string" ? writeSync(this.#fd, data) : writeSync(this.#fd, data);
  }

  async appendLarge(data: Buffer): Promise<number> {
    return (await writeAsync(this.#fd, data)).bytesWritten;
  }

  truncate(size: number): void {
    ftruncateSync(this.#fd, size);
  }

  isAt(path: string, bytes: number): boolean {
    const there = statSync(path, orNothing);
    if (there === undefined || there.size < bytes) return false;
    return there.ino === this.#inode && there.dev === this.#device;
  }

  syncData(): Promise<void> {
    return fdatasyncAsync(this.#fd);
  }

  syncAll(): Promise<void> {
    return fsyncAsync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function readRegular(path: string): Buffer {
  const fd = openRegular(path);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function* partsOf(path: string): Generator<Buffer, void> {
  const fd = openRegular(path);
  try {
    for (;;) {
      const part = Buffer.allocUnsafe(limits.journalReadBytes);
      const bytes = readSync(fd, part);
      if (bytes === 0) return;
      yield part.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}

function openRegular(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw Object.assign(new Error(`${path} is not a regular file; move it away`), { code: "EINVAL" });
}

/** The machine's file system. */
export const nodeDisk: Disk = {
  mkdir: dir => void mkdirSync(dir, { recursive: true, mode: 0o700 }),
  list: dir => readdirSync(dir),
  read: readRegular,
  parts: partsOf,
  size: path => statSync(path, { throwIfNoEntry: false })?.size ?? null,
  create: path => new NodeFile(path, "ax"),
  // Not "a": that would create a missing file and wait for the other end of a pipe.
  open: path => new NodeFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK),
  rename: renameSync,
  unlink: unlinkSync,
  async syncDir(dir) {
    const fd = openSync(dir, "r");
    try {
      await fsyncAsync(fd);
    } finally {
      closeSync(fd);
    }
  },
};

/** Returns the `code` of an error that a disk threw, or null. */
export function diskCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** Whether a write failed for lack of space: the disk's, or the user's quota. */
export function isNoSpace(error: unknown): boolean {
  const code = diskCode(error);
  return code === "ENOSPC" || code === "EDQUOT";
}

/** A sync failed. The content of the disk is unknown, and a second sync would not tell: the kernel forgets it. */
export class SyncFailed extends Error {
  override readonly name = "SyncFailed";
}

/** Awaits a sync and throws `SyncFailed` if it fails, so that callers can tell that failure from others. */
export async function synced(sync: Promise<void>): Promise<void> {
  try {
    await sync;
  } catch (error) {
    throw new SyncFailed("the disk failed to store what was written; see its health", { cause: error });
  }
}

// Names and finds the files of a journal's directory.

/**
 * The files of a journal's directory. Their names are numbers of fixed width, so that their order as text is
 * their order in time:
 *
 * - `0000000003-0000000000000101.log`: the segment of epoch 3 whose first entry is (or would be) 101.
 * - `0000000003-0000000000000150.snapshot`: the state after entry 150, taken in epoch 3.
 * - `0000000003-0000000000000101-0000000000000148.manifest`: how far the log went (snapshots.ts). The last segment is that
 *   of epoch 3 whose first entry is 101. Entries up to 148 are durable.
 * - `*.tmp`: a snapshot that was never finished.
 * - `reserve`: space that the journal frees when the disk is full.
 */
export interface JournalFiles {
  /** Oldest first. */
  readonly segments: readonly SegmentName[];
  /** Newest first. */
  readonly snapshots: readonly SnapshotName[];
  /** Oldest first; empty if an earlier Kite without manifests wrote the journal. */
  readonly manifests: readonly ManifestName[];
  readonly unfinished: readonly string[];
  /** The highest epoch in any file name; 0 if there is none. */
  readonly epoch: number;
}

export interface SegmentName {
  readonly name: string;
  readonly epoch: number;
  readonly first: number;
}

export interface SnapshotName {
  readonly name: string;
  readonly epoch: number;
  readonly seq: number;
}

export interface ManifestName {
  readonly name: string;
  /** The epoch of the segment that the manifest names. */
  readonly epoch: number;
  readonly first: number;
  readonly durable: number;
}

export const reserveName = "reserve";

export function segmentName(epoch: number, first: number): string {
  return `${numbers(epoch, first)}.log`;
}

export function snapshotName(epoch: number, seq: number): string {
  return `${numbers(epoch, seq)}.snapshot`;
}

export function manifestName(epoch: number, first: number, durable: number): string {
  return `${numbers(epoch, first)}-${seqText(durable)}.manifest`;
}

/** Lists a directory's journal files; skips files with other names. */
export function journalFiles(disk: Disk, dir: string): JournalFiles {
  const segments: SegmentName[] = [];
  const snapshots: SnapshotName[] = [];
  const manifests: ManifestName[] = [];
  const unfinished: string[] = [];
  let highest = 0;
  for (const name of disk.list(dir)) {
    const [, left, right, third, kind] = ours.exec(name) ?? [];
    if (left === undefined || right === undefined || (third !== undefined) !== (kind === "manifest"))
      continue;
    const epoch = Number(left);
    const seq = Number(right);
    highest = Math.max(highest, epoch);
    if (kind === "log") segments.push({ name, epoch, first: seq });
    else if (kind === "manifest") manifests.push({ name, epoch, first: seq, durable: Number(third) });
    else if (kind === "snapshot") snapshots.push({ name, epoch, seq });
    else unfinished.push(name);
  }
  segments.sort(compareSegments);
  manifests.sort((a, b) => compareSegments(a, b) || a.durable - b.durable);
  snapshots.sort((a, b) => b.seq - a.seq || b.epoch - a.epoch);
  return { segments, snapshots, manifests, unfinished, epoch: highest };
}

/** Orders segments by the time they were begun. */
export function compareSegments(
  a: Pick<SegmentName, "epoch" | "first">,
  b: Pick<SegmentName, "epoch" | "first">,
): number {
  return a.epoch - b.epoch || a.first - b.first;
}

const ours = /^(\d{10})-(\d{16})(?:-(\d{16}))?\.(log|snapshot|snapshot\.tmp|manifest)$/;

function numbers(epoch: number, seq: number): string {
  return `${String(epoch).padStart(10, "0")}-${seqText(seq)}`;
}

function seqText(seq: number): string {
  return String(seq).padStart(16, "0");
}
