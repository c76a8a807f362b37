/** Replaces other programs' files without losing their writes. */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { lock } from "proper-lockfile";
import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";

/** An install or uninstall failed; the message says why and what to do. Settings are unchanged. */
export class InstallFailed extends LocalError {
  override readonly name = "InstallFailed";
}

/** A settings file has an unexpected form, so Kite does not change it. The message says what is wrong. */
export class SettingsRefused extends LocalError {
  override readonly name = "SettingsRefused";
}

/** Runs `work`; turns errors of the system (no permission, no such folder, a full disk) into InstallFailed. */
export async function namingFailures<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isSystemError(error)) throw new InstallFailed(systemErrorText(error));
    throw error;
  }
}

// Reads other programs' files.

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

/** Adds the file's name to a refusal. */
export function named<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SettingsRefused)
      throw new InstallFailed(`Kite did not change ${file}: ${error.message}`);
    throw error;
  }
}

/**
 * Replaces one of Kite's own files as a whole, so that no reader sees half of it. Keeps its mode; a new file gets `mode`.
 */
export function writeWhole(path: string, bytes: Buffer | string, mode: number): void {
  withFresh(path, bytes, mode, fresh => renameSync(fresh, path));
}

/**
 * Replaces another program's file as a whole if it still equals `was` (null: it does not exist); else returns false and
 * changes nothing. Throws if the file has several names: only one of them would get the new text.
 *
 * No system call replaces a file on condition of its content. If a program that takes no lock writes in the microseconds
 * between the last comparison and the rename, its write is lost. A new file is made by a link, which fails if the file
 * exists by then, so it overwrites nothing.
 */
export function replaceText(path: string, text: string, mode: number, was: string | null): boolean {
  refuseLinked(path);
  return withFresh(path, text, mode, fresh => {
    if (was === null) return linked(fresh, path);
    if (!isStill(path, was)) return false;
    renameSync(fresh, path);
    return true;
  });
}

/** Removes another program's file if it still equals `was`; else returns false. */
export function removeText(path: string, was: string): boolean {
  refuseLinked(path);
  if (!isStill(path, was)) return false;
  rmSync(path);
  return true;
}

/** Throws if a file has several names: a new file in its place would separate them silently. */
export function refuseLinked(path: string): void {
  const names = statSync(path, { throwIfNoEntry: false })?.nlink ?? 1;
  if (names <= 1) return;
  throw new InstallFailed(
    `${path} has ${names} names (hard links), and a new text would reach only one of them; Kite did not change it. To ` +
      `separate them: cp -p '${path}' '${path}.new' && mv '${path}.new' '${path}'; or make the others symbolic links`,
  );
}

function isStill(path: string, was: string): boolean {
  const bytes = readIfAny(path, limits.clientFileBytes);
  refuseLinked(path);
  return bytes?.equals(Buffer.from(was)) ?? false;
}

/** Links `fresh` to the name `path` too; returns false if that name exists by now. */
function linked(fresh: string, path: string): boolean {
  try {
    linkSync(fresh, path);
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    // Some file systems have no hard links.
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false;
    renameSync(fresh, path);
  }
  return true;
}

/** Writes a file beside `path`, syncs it and calls `put` with its name; then removes it unless `put` moved it. */
function withFresh<T>(path: string, bytes: Buffer | string, mode: number, put: (fresh: string) => T): T {
  const before = statSync(path, { throwIfNoEntry: false });
  const fresh = `${path}.${process.pid}.new`;
  const fd = openSync(fresh, "wx", mode);
  try {
    try {
      writeFileSync(fd, bytes);
      if (before?.isFile()) fchmodSync(fd, before.mode & 0o7777);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    return put(fresh);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Repeats `work` while it returns null, which means that a program without the lock wrote `path` meanwhile. */
export function retried<T>(path: string, work: () => T | null): T {
  for (let tries = 0; tries < limits.settingsTriesMax; tries += 1) {
    const done = work();
    if (done !== null) return done;
  }
  throw new InstallFailed(`another program keeps changing ${path}; try again in a moment`);
}

/** Writes `text` beside the file, under a free name and with the file's own mode. */
export function backUp(path: string, text: string): string {
  const mode = statSync(path).mode & 0o777;
  for (let n = 1; ; n += 1) {
    const copy = copyName(path, n);
    try {
      writeFileSync(copy, text, { flag: "wx", mode });
      return copy;
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
  }
}

/** Returns the name that `backUp` would choose now. */
export function backUpName(path: string): string {
  for (let n = 1; ; n += 1) {
    const copy = copyName(path, n);
    if (lstatSync(copy, { throwIfNoEntry: false }) === undefined) return copy;
  }
}

function copyName(path: string, n: number): string {
  return `${path}.before-kite${n === 1 ? "" : `-${n}`}`;
}

export function digest(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

// The lock that programs take on a settings file before they write it.

/** Runs `work` under the file's lock, which other programs also take. The file's folder must exist. */
export async function whileLocked<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  let release: () => Promise<void>;
  try {
    release = await lock(path, {
      realpath: false,
      retries: { retries: 120, factor: 1, minTimeout: 100, maxTimeout: 100 },
    });
  } catch (error) {
    if (!isCode(error, "ELOCKED")) throw error;
    throw new InstallFailed(`another program is writing ${path}; try again in a moment`);
  }
  try {
    return await work();
  } finally {
    await release();
  }
}
