import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { lock } from "proper-lockfile";
import { limits } from "../../protocol/limits.ts";
import { InstallFailed, SettingsRefused } from "./failed.ts";

/**
 * The bytes of a file, or null where there is none. Throws where it is longer than `maxBytes`, or no regular file: a
 * pipe would be waited for without end.
 */
export function readIfAny(path: string, maxBytes: number): Buffer | null {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) return null;
  refuseOdd(path, there);
  // It may have become something else since: opened so, nothing is waited for.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = fstatSync(fd);
    refuseOdd(path, stat);
    if (stat.size > maxBytes) {
      throw new InstallFailed(`${path} is longer than ${maxBytes} bytes; it was left alone`);
    }
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function refuseOdd(path: string, stat: Stats): void {
  if (stat.isFile()) return;
  const kinds: readonly (readonly [string, boolean])[] = [
    ["a pipe", stat.isFIFO()],
    ["a folder", stat.isDirectory()],
    ["a socket", stat.isSocket()],
  ];
  const kind = kinds.find(([, isIt]) => isIt)?.[0] ?? "a device";
  throw new InstallFailed(
    `${path} is ${kind}, not a regular file; it was left alone. Remove it, then try again`,
  );
}

/** A file of others as text, or null where there is none. What is not UTF-8 could not be written back as it was. */
export function readText(path: string, maxBytes: number): string | null {
  const bytes = readIfAny(path, maxBytes);
  if (bytes !== null && !isUtf8(bytes)) throw new InstallFailed(`${path} was left alone: it is not UTF-8`);
  return bytes?.toString("utf8") ?? null;
}

/** Says which file was refused. */
export function named<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SettingsRefused) throw new InstallFailed(`${file} was left alone: ${error.message}`);
    throw error;
  }
}

/**
 * Puts a file of Kite's own in place as a whole: nobody ever reads half of it. It keeps its mode; a new one gets `mode`.
 */
export function writeWhole(path: string, bytes: Buffer | string, mode: number): void {
  withFresh(path, bytes, mode, fresh => renameSync(fresh, path));
}

/**
 * Puts a file of others in place as a whole, if it is still what it `was` (null: not there); else it returns false and
 * changes nothing. Throws where the file has several names: only one of them would get the new text.
 *
 * No system call replaces a file on condition of what is in it. What a program that asks for no lock writes in the few
 * microseconds between the last look and the rename is lost; a file that was not there is made by a link, which fails
 * where there is one by then, so there nothing is.
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

/** Removes a file of others if it is still what it `was`; else it returns false. */
export function removeText(path: string, was: string): boolean {
  refuseLinked(path);
  if (!isStill(path, was)) return false;
  rmSync(path);
  return true;
}

/** Throws where a file has several names: a new file in its place would part them without a word. */
export function refuseLinked(path: string): void {
  const names = statSync(path, { throwIfNoEntry: false })?.nlink ?? 1;
  if (names <= 1) return;
  throw new InstallFailed(
    `${path} has ${names} names (hard links), and a new text would get to only one of them; it was left alone. Part ` +
      `them first: cp -p '${path}' '${path}.new' && mv '${path}.new' '${path}'; or make the others symbolic links`,
  );
}

function isStill(path: string, was: string): boolean {
  const bytes = readIfAny(path, limits.clientFileBytes);
  refuseLinked(path);
  return bytes?.equals(Buffer.from(was)) ?? false;
}

/** Gives `fresh` the name `path` too; false where something has it by now. */
function linked(fresh: string, path: string): boolean {
  try {
    linkSync(fresh, path);
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    // Some filesystems know no hard links.
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false;
    renameSync(fresh, path);
  }
  return true;
}

/** Writes a file beside `path`, on disk when `put` gets its name; it is gone afterwards unless it was moved. */
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

/** Runs `work` until it is done; it returns null where somebody who asks for no lock wrote `path` in between. */
export function retried<T>(path: string, work: () => T | null): T {
  for (let tries = 0; tries < limits.settingsTriesMax; tries += 1) {
    const done = work();
    if (done !== null) return done;
  }
  throw new InstallFailed(`${path} changes all the time; try again in a moment`);
}

/** Puts `text` beside the file, under a name that is free and with the file's own mode. */
export function backUp(path: string, text: string): string {
  const mode = statSync(path).mode & 0o777;
  for (let n = 1; ; n += 1) {
    const copy = `${path}.before-kite${n === 1 ? "" : `-${n}`}`;
    try {
      writeFileSync(copy, text, { flag: "wx", mode });
      return copy;
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
  }
}

/** Runs `work` while no other program that asks the same way writes the file. Its folder has to exist. */
export async function whileLocked<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  let release: () => Promise<void>;
  try {
    release = await lock(path, {
      realpath: false,
      retries: { retries: 120, factor: 1, minTimeout: 100, maxTimeout: 100 },
    });
  } catch (error) {
    if (!isCode(error, "ELOCKED")) throw error;
    throw new InstallFailed(`${path} is being written by another program; try again in a moment`);
  }
  try {
    return await work();
  } finally {
    await release();
  }
}

export function digest(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
