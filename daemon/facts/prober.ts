/** Single questions to the filesystem and the mount table, by `node:fs`. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
} from "node:fs";
import { lstat, open, opendir, readFile, readlink, realpath, statfs } from "node:fs/promises";
import { limits } from "../../protocol/limits.ts";
import { NotHere } from "./per-device-limit.ts";

/** A mount point, by its real path. */
export interface Mount {
  readonly point: string;
  /** Whether its filesystem needs no other machine. */
  readonly local: boolean;
}

/** The end of a file. A character at its beginning may be cut. */
export interface FileEnd {
  readonly text: string;
  readonly sizeBytes: number;
  /** Wall time of its last change, in milliseconds. */
  readonly changedAt: number;
}

/**
 * Questions to the filesystem, each asynchronous: on a mount that hangs any of them may never be answered. Errors are
 * Node's. Only regular files are opened.
 */
export interface Prober {
  lstat(path: string): Promise<BigIntStats>;
  readlink(path: string): Promise<string>;
  /** The path as the volume spells it, if the system tells (macOS does). */
  realpath(path: string): Promise<string>;
  /** The kernel's number of the filesystem type. */
  filesystem(path: string): Promise<number>;
  /** Up to `max` names in a directory, unordered. */
  names(path: string, max: number): Promise<readonly string[]>;
  /** A regular file's text of at most `bytesMax`; null for anything else or longer. */
  readSmall(path: string, bytesMax: number): Promise<string | null>;
  /** The end of a regular file, at most `bytesMax`, with its size and time; null for anything else. */
  tail(path: string, bytesMax: number): Promise<FileEnd | null>;
  /** The mount points, or null if the system does not tell. Must not touch the mounts themselves. */
  mounts(): Promise<readonly Mount[] | null>;
}

/** Questions that never wait for another machine if they concern a local filesystem. */
export interface ProberHere extends Prober {
  /** `mounts` at once: the same table as the last time if nothing was mounted or unmounted. */
  mountsNow(): readonly Mount[] | null;
  /** `lstat` at once; null if the file does not exist. */
  lstatNow(path: string): BigIntStats | null;
}

export const nodeProber: Prober = {
  lstat: path => lstat(path, { bigint: true }),
  readlink: path => readlink(path),
  realpath: path => realpath(path),
  filesystem: async path => (await statfs(path)).type,
  names: async (path, max) => {
    const names: string[] = [];
    try {
      for await (const entry of await opendir(path, { bufferSize: max })) {
        names.push(entry.name);
        if (names.length >= max) break;
      }
    } catch (error) {
      // Without a descriptor the names are unknown; the caller goes on with earlier results.
      if (!isOutOfDescriptors(error)) throw error;
    }
    return names;
  },
  readSmall,
  tail: readTail,
  mounts: async () =>
    process.platform === "linux" ? mountsIn(await readFile("/proc/self/mountinfo", "utf8")) : null,
};

/** The same questions in this thread, for local filesystems. Slow questions stay with the pool. */
export const nodeProberHere: ProberHere = {
  lstatNow: path => lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null,
  lstat: async path => lstatSync(path, { bigint: true }),
  readlink: async path => readlinkSync(path),
  realpath: async path => realpathSync.native(path),
  filesystem: async path => statfsSync(path).type,
  names: async () => {
    throw new NotHere("a directory may be of any length");
  },
  readSmall: async (path, bytesMax) => readSmallHere(path, bytesMax),
  tail: async () => {
    throw new NotHere("it may be long");
  },
  mounts: async () => mountsNow(),
  mountsNow,
};

/** Whether the process, or the machine, has no descriptor left; other work frees some in a moment. */
export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
}

/** Reads a small regular file without waiting for the other end of a FIFO or device. */
export async function readSmall(
  path: string,
  bytesMax: number = limits.smallFileBytes,
): Promise<string | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > bytesMax) return null;
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    while (size < buffer.length) {
      const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
      if (bytesRead === 0) break;
      size += bytesRead;
    }
    return size > bytesMax ? null : buffer.toString("utf8", 0, size);
  } finally {
    await handle.close();
  }
}

/** Reads the end of a regular file without waiting for the other end of a FIFO or device. */
async function readTail(path: string, bytesMax: number): Promise<FileEnd | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return null;
    const { size, mtimeMs } = stat;
    const buffer = Buffer.alloc(Math.min(size, bytesMax));
    let read = 0;
    while (read < buffer.length) {
      const { bytesRead } = await handle.read(
        buffer,
        read,
        buffer.length - read,
        size - buffer.length + read,
      );
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return { text: buffer.toString("utf8", 0, read), sizeBytes: size, changedAt: mtimeMs };
  } finally {
    await handle.close();
  }
}

/** Reads a small regular file in this thread. A link is left to the pool: it may lead to a mount that hangs. */
function readSmallHere(path: string, bytesMax: number): string | null {
  if (lstatSync(path).isSymbolicLink()) throw new NotHere("it is a link");
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
  const fd = openSync(path, flags);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > bytesMax) return null;
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read) {
      read = readSync(fd, buffer, size, buffer.length - size, size);
    }
    return size > bytesMax ? null : buffer.toString("utf8", 0, size);
  } finally {
    closeSync(fd);
  }
}

/** The table that was read last in this thread, and its text. */
let lastTable: { readonly text: string; readonly mounts: readonly Mount[] } = { text: "", mounts: [] };

/** To read the table costs half of what it costs to read and parse it. */
function mountsNow(): readonly Mount[] | null {
  if (process.platform !== "linux") return null;
  const text = readFileSync("/proc/self/mountinfo", "utf8");
  if (text !== lastTable.text) lastTable = { text, mounts: mountsIn(text) };
  return lastTable.mounts;
}

/** Names of the local filesystems, which PathFacts knows by number. */
const localNames: ReadonlySet<string> = new Set(
  (
    "ext2 ext3 ext4 xfs btrfs f2fs bcachefs zfs tmpfs ramfs overlay jfs reiserfs nilfs2 vfat exfat ntfs3 erofs " +
    "squashfs"
  ).split(" "),
);

/**
 * Parses `/proc/self/mountinfo`: the mount point is the fifth field, with octal escapes for blanks; the name of the
 * filesystem follows a dash. Of several mounts at one point the last counts.
 */
export function mountsIn(mountinfo: string): Mount[] {
  return mountinfo.split("\n").flatMap(line => {
    const point = line.split(" ", 5)[4];
    if (point === undefined) return [];
    const [, name = ""] = / - (\S+) /.exec(line) ?? [];
    const spelled = point.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return [{ point: spelled, local: localNames.has(name) }];
  });
}
