import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { lock } from "proper-lockfile";
import { InstallFailed, SettingsRefused } from "./failed.ts";

/** The bytes of a file, or null where there is none. Throws where it is longer than `maxBytes`. */
export function readIfAny(path: string, maxBytes: number): Buffer | null {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return null;
  if (size > maxBytes) throw new InstallFailed(`${path} is longer than ${maxBytes} bytes; it was left alone`);
  return readFileSync(path);
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

/** Puts a file in place as a whole: nobody ever reads half of it. It keeps its mode; a new one gets `mode`. */
export function writeWhole(path: string, bytes: Buffer | string, mode: number): void {
  const kept = statSync(path, { throwIfNoEntry: false })?.mode;
  const fresh = `${path}.${process.pid}.new`;
  const fd = openSync(fresh, "wx", mode);
  try {
    try {
      writeFileSync(fd, bytes);
      if (kept !== undefined) fchmodSync(fd, kept & 0o7777);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
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
