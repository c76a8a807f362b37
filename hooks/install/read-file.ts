/** Reads other programs' files. */
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { InstallFailed } from "./failed.ts";

/**
 * Returns the bytes of a file, or null if it does not exist. Throws if it is longer than `maxBytes`, or no regular
 * file: reading a pipe would block without end.
 */
export function readIfAny(path: string, maxBytes: number): Buffer | null {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) return null;
  refuseOdd(path, there);
  // The file may have become a pipe since; opened this way it does not block.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = fstatSync(fd);
    refuseOdd(path, stat);
    if (stat.size > maxBytes) {
      throw new InstallFailed(`${path} is longer than ${maxBytes} bytes; Kite did not change it`);
    }
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Returns what stands in the place of a regular file, such as "a pipe"; null if it is one. */
export function kindOf(stat: Stats): string | null {
  if (stat.isFile()) return null;
  const kinds: readonly (readonly [string, boolean])[] = [
    ["a pipe", stat.isFIFO()],
    ["a folder", stat.isDirectory()],
    ["a socket", stat.isSocket()],
    ["a link", stat.isSymbolicLink()],
  ];
  return kinds.find(([, isIt]) => isIt)?.[0] ?? "a device";
}

function refuseOdd(path: string, stat: Stats): void {
  const kind = kindOf(stat);
  if (kind === null) return;
  throw new InstallFailed(
    `${path} is ${kind}, not a regular file; Kite did not change it. Remove it, then try again`,
  );
}

/** Returns another program's file as text; null if it does not exist. Throws if it is not UTF-8: a rewrite would damage it. */
export function readText(path: string, maxBytes: number): string | null {
  const bytes = readIfAny(path, maxBytes);
  if (bytes !== null && !isUtf8(bytes))
    throw new InstallFailed(`${path} is not UTF-8; Kite did not change it`);
  return bytes?.toString("utf8") ?? null;
}

/**
 * Returns the file behind symbolic links, even if it does not exist yet, because a write must not replace the link.
 * Throws if links form a cycle.
 */
export function linkTarget(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  let at = path;
  for (let hops = 0; hops < 40; hops += 1) {
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new InstallFailed(`${path} is a link without a target; remove it or point it at a file`);
}
