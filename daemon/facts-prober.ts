import { type BigIntStats, constants } from "node:fs";
import { lstat, open, opendir, readFile, readlink, realpath, statfs } from "node:fs/promises";
import { limits } from "../protocol/limits.ts";

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
   * The mount points as real paths, or null where they cannot be known. Must not touch the mounts themselves.
   */
  mounts(): Promise<readonly string[] | null>;
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
    process.platform === "linux" ? mountPoints(await readFile("/proc/self/mountinfo", "utf8")) : null,
};

function isOutOfDescriptors(error: unknown): boolean {
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

/**
 * The mount points in the text of `/proc/self/mountinfo`: its fifth field, where blanks are octal escapes.
 */
export function mountPoints(mountinfo: string): string[] {
  return mountinfo
    .split("\n")
    .map(line => line.split(" ", 5)[4])
    .filter(point => point !== undefined)
    .map(point =>
      point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
}
