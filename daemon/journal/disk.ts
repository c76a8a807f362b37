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
