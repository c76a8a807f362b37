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
  /** Its filesystem answers from this machine alone. */
  readonly local: boolean;
}

/**
 * What is asked of the filesystem, asynchronously, each question by itself: on a mount that hangs any of them
 * may never be answered. Errors are those of Node. None opens anything but a regular file.
 */
export interface Prober {
  lstat(path: string): Promise<BigIntStats>;
  readlink(path: string): Promise<string>;
  /** The path as the volume spells it, as far as the system tells (macOS does). */
  realpath(path: string): Promise<string>;
  /** The kernel's number for the type of the filesystem. */
  filesystem(path: string): Promise<number>;
  /** Up to `max` names in a directory, in no order. */
  names(path: string, max: number): Promise<readonly string[]>;
  /** A regular file's text of at most `bytesMax`; null where it is something else or longer. */
  readSmall(path: string, bytesMax: number): Promise<string | null>;
  /**
   * The mount points, or null where they cannot be known. Must not touch the mounts themselves.
   */
  mounts(): Promise<readonly Mount[] | null>;
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
      // Who has no descriptor left sees no names, and goes on by what was seen elsewhere.
      if (!isOutOfDescriptors(error)) throw error;
    }
    return names;
  },
  readSmall,
  mounts: async () =>
    process.platform === "linux" ? mountsIn(await readFile("/proc/self/mountinfo", "utf8")) : null,
};

/**
 * The same questions asked in this thread: for local filesystems alone, where no thread of the pool gets a processor.
 * What takes long even there is left to the pool.
 */
export const nodeProberHere: Prober = {
  lstat: async path => lstatSync(path, { bigint: true }),
  readlink: async path => readlinkSync(path),
  realpath: async path => realpathSync.native(path),
  filesystem: async path => statfsSync(path).type,
  names: async () => {
    throw new NotHere("a directory may be of any length");
  },
  readSmall: async (path, bytesMax) => readSmallHere(path, bytesMax),
  mounts: async () =>
    process.platform === "linux" ? mountsIn(readFileSync("/proc/self/mountinfo", "utf8")) : null,
};

/** Whether the process, or the machine, has all the files open that it may; others give theirs back in a moment. */
export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
}

/** Reads a small regular file without waiting for a FIFO's or a device's other end. */
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

/** The same in this thread; a link may lead to where nobody answers. */
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

/** Names of the filesystems that PathFacts knows by number as those that answer from this machine alone. */
const localNames: ReadonlySet<string> = new Set(
  (
    "ext2 ext3 ext4 xfs btrfs f2fs bcachefs zfs tmpfs ramfs overlay jfs reiserfs nilfs2 vfat exfat ntfs3 erofs " +
    "squashfs"
  ).split(" "),
);

/**
 * The mounts in the text of `/proc/self/mountinfo`: the point is its fifth field, where blanks are octal escapes; the
 * name of the filesystem follows a dash. Of several mounts at one point the last one counts.
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
