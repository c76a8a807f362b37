/** Says what is wrong with a file of Kite that cannot be used: what stands in its place, or who may not use it. */
import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { kindOf } from "../../hooks/install/file.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type Advice, advise, aside } from "./advice.ts";

export interface OddFile {
  /** The beginning of a sentence, such as `PATH is a folder, not a regular file`. */
  readonly what: string;
  /** What is to be done; null: it takes another user. */
  readonly line: string | null;
  readonly advice: Advice;
}

/** Asks the system whether this user may use the path so; throws its error if not. */
type Access = (path: string, mode: number) => void;

const { R_OK, W_OK, X_OK } = constants;

/** Returns the sentence's start for a record that could not be read: what stands in its place, or that it is damaged. */
export function damaged(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  if (kind !== null) return `${path} is ${kind}, not a regular file`;
  return stat?.size === 0 ? `${path} is empty` : `${path} is not as Kite writes it`;
}

/** Returns the sentence's start if something other than a regular file, such as a link, is at the path; else null. */
export function irregular(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  return kind === null ? null : `${path} is ${kind}, not a regular file`;
}

/** Returns why this user cannot use the file in `mode`; null if nothing keeps them from it, or there is none. */
export function oddFile(path: string, mode: number = R_OK): OddFile | null {
  return unusable(path, "file", mode);
}

/** Returns why this user cannot use the folder in `mode`; null if nothing keeps them from it, or there is none. */
export function oddFolder(path: string, mode: number = R_OK | X_OK): OddFile | null {
  return unusable(path, "folder", mode);
}

function unusable(path: string, wanted: "file" | "folder", mode: number): OddFile | null {
  const above = barred(dirname(path), X_OK);
  if (above !== null) return above;
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  const isFit = wanted === "file" ? stat.isFile() : stat.isDirectory();
  if (isFit) return barred(path, mode);
  const kind = kindOf(stat) ?? "a file";
  const what = `${path} is ${kind}, not a ${wanted === "file" ? "regular file" : "folder"}`;
  const line = aside(path);
  return { what, line, advice: advise("put it aside", line) };
}

/**
 * Returns what keeps this user from using the path in `mode`, be it a folder above it; null if nothing does, or nothing
 * is there.
 */
export function barred(path: string, mode: number, access: Access = accessSync): OddFile | null {
  const code = refusalOf(path, mode, access);
  if (code === null || code === "ENOENT" || code === "ENOTDIR") return null;
  const above = dirname(path) === path ? null : barred(dirname(path), X_OK, access);
  if (above !== null) return above;
  if (code === "EROFS") {
    const advice = { todo: "mount it so that it can be written" };
    return { what: `${path} is on a disk that can only be read`, line: null, advice };
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  // It was removed since its name was read.
  if (stat === undefined) return null;
  const lacks = [R_OK, W_OK, X_OK].filter(one => (mode & one) !== 0 && refusalOf(path, one, access) !== null);
  const what = `you may not ${lacks.map(one => verbOf(one, stat.isDirectory())).join(" and ")} ${path}`;
  if (stat.uid !== process.getuid?.()) {
    const advice = { todo: `it belongs to user ${stat.uid}: make it yours` };
    return { what, line: null, advice };
  }
  const bits = stat.isDirectory() || (mode & X_OK) !== 0 ? "rwx" : "rw";
  const line = `chmod u+${bits} ${shellArgument(path)}`;
  return { what, line, advice: advise("allow it", line) };
}

function verbOf(mode: number, isFolder: boolean): string {
  if (mode === R_OK) return "read";
  if (mode === W_OK) return "write";
  return isFolder ? "open" : "run";
}

/** Returns the code of the system's refusal, or null. */
function refusalOf(path: string, mode: number, access: Access): string | null {
  try {
    access(path, mode);
    return null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code ?? "EACCES";
  }
}
