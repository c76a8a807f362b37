/** Reads a whole file safely: no link is followed, nothing waits for the other end of a FIFO, and the bytes are of one moment. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
} from "node:fs";
import { lstat, open, readlink, realpath } from "node:fs/promises";
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import { stampOf } from "./paths.ts";
import { NotHere, nodeProberHere } from "./prober.ts";

/**
 * What stands at a path. `gone`: nothing, or this user may not see it. `other`: a link, or no regular file, as `what` says.
 * `large`: longer than asked for. `changing`: it was written or replaced while it was read.
 */
export type WholeFile =
  | {
      readonly is: "read";
      readonly content: Buffer;
      /** Permission bits. */
      readonly mode: number;
      /** As `Stamped` has it. */
      readonly stamp: string;
      /** Time of the last change of any kind, in milliseconds of the system's clock. */
      readonly changedAt: number;
    }
  | { readonly is: "gone" }
  | { readonly is: "other"; readonly what: string }
  | { readonly is: "large"; readonly sizeBytes: number }
  | { readonly is: "changing" };

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

/** Returns what stands at an absolute, real path, within the facts' budget. A short file of a local disk is read in this thread. */
export async function wholeFile(
  outside: Pick<BudgetedFs, "fact" | "look">,
  path: string,
  bytesMax: number,
): Promise<WholeFile | Unreachable> {
  const found = await outside.fact(budget =>
    outside.look(
      path,
      null,
      budget,
      (prober, p) => (prober === nodeProberHere ? readHere(p, bytesMax) : read(p, bytesMax)),
      { maybeElsewhere: true },
    ),
  );
  return found ?? { is: "gone" };
}

async function read(path: string, bytesMax: number): Promise<WholeFile> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, flags);
  } catch (error) {
    return unopened(error);
  }
  try {
    const before = await handle.stat({ bigint: true });
    const odd = oddOne(before, bytesMax);
    if (odd !== null) return odd;
    const real = isLinux ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
    if (!isItself(real, path)) return elsewhere(real);
    const buffer = Buffer.allocUnsafe(Number(before.size) + 1);
    let size = 0;
    while (size < buffer.length) {
      const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
      if (bytesRead === 0) break;
      size += bytesRead;
    }
    const after = await handle.stat({ bigint: true });
    return ofOneMoment(before, after, await lstat(path, { bigint: true }), buffer.subarray(0, size));
  } finally {
    await handle.close();
  }
}

/** The same in this thread; long files are left to the pool. */
async function readHere(path: string, bytesMax: number): Promise<WholeFile> {
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch (error) {
    return unopened(error);
  }
  try {
    const before = fstatSync(fd, { bigint: true });
    const odd = oddOne(before, bytesMax);
    if (odd !== null) return odd;
    if (before.size > limits.readHereBytes) throw new NotHere("it is long");
    const real = isLinux ? readlinkSync(`/proc/self/fd/${fd}`) : realpathSync.native(path);
    if (!isItself(real, path)) return elsewhere(real);
    const buffer = Buffer.allocUnsafe(Number(before.size) + 1);
    let size = 0;
    for (let bytesRead = -1; bytesRead !== 0 && size < buffer.length; size += bytesRead)
      bytesRead = readSync(fd, buffer, size, buffer.length - size, size);
    const after = fstatSync(fd, { bigint: true });
    return ofOneMoment(before, after, lstatSync(path, { bigint: true }), buffer.subarray(0, size));
  } finally {
    closeSync(fd);
  }
}

const isLinux = process.platform === "linux";

/** Returns what a file is that was not opened; throws what the facts answer for. */
function unopened(error: unknown): WholeFile {
  const code = error instanceof Error && "code" in error ? error.code : null;
  // A link in place of the file; a socket, or a device that is not there.
  if (code === "ELOOP" || code === "EMLINK") return { is: "other", what: "a link" };
  if (code === "ENXIO" || code === "ENODEV") return { is: "other", what: "no regular file" };
  throw error;
}

function oddOne(stat: BigIntStats, bytesMax: number): WholeFile | null {
  if (!stat.isFile()) return { is: "other", what: "no regular file" };
  return stat.size > bytesMax ? { is: "large", sizeBytes: Number(stat.size) } : null;
}

/** Whether the opened file is the one at the path: a folder on the way may have become a link. */
function isItself(real: string, path: string): boolean {
  return real === path;
}

/** The system adds a word to the path of an open file that was removed. */
function elsewhere(real: string): WholeFile {
  return real.endsWith(" (deleted)") ? { is: "changing" } : { is: "other", what: "a link" };
}

function ofOneMoment(
  before: BigIntStats,
  after: BigIntStats,
  there: BigIntStats,
  content: Buffer,
): WholeFile {
  const isSame =
    before.ctimeNs === after.ctimeNs &&
    before.mtimeNs === after.mtimeNs &&
    BigInt(content.length) === after.size &&
    there.ino === after.ino &&
    there.dev === after.dev;
  const { stamp, changedAt } = stampOf(after);
  if (!isSame || stamp === null) return { is: "changing" };
  return { is: "read", content, mode: Number(after.mode & 0o777n), stamp, changedAt };
}
