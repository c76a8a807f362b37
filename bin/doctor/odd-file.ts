/** Says what is wrong with a file of Kite that cannot be used. */
import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { kindOf } from "../../hooks/install/read-file.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type Advice, advise, aside } from "./advice.ts";

export interface OddFile {
  /** The beginning of a sentence, such as `PATH is a folder, not a regular file`. */
  readonly what: string;
  readonly advice: Advice;
}

/** Returns the sentence's start for a record that could not be read: what stands in its place, or that it is damaged. */
export function damaged(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  return kind === null ? `${path} is not as Kite writes it` : `${path} is ${kind}, not a regular file`;
}

/** Returns the sentence's start if something other than a regular file, such as a link, is at the path; else null. */
export function irregular(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  return kind === null ? null : `${path} is ${kind}, not a regular file`;
}

/** Returns why the file at the path cannot be read; null if it can be, or there is none. */
export function oddFile(path: string): OddFile | null {
  const what = irregular(path);
  return what === null
    ? unreadable(path, constants.R_OK)
    : { what, advice: advise("put it aside", aside(path)) };
}

/** Returns what keeps this user from using the path in `mode`; null if nothing does, or nothing is there. */
export function unreadable(path: string, mode: number): OddFile | null {
  try {
    accessSync(path, mode);
    return null;
  } catch {
    const what = `you may not read ${path}`;
    const stat = statSync(path, { throwIfNoEntry: false });
    // A daemon removed it since its name was read.
    if (stat === undefined) return null;
    if (stat.uid !== process.getuid?.())
      return { what, advice: { todo: `it belongs to user ${stat.uid}: make it yours` } };
    const line = `chmod u+r${stat.isDirectory() ? "wx" : "w"} ${shellArgument(path)}`;
    return { what, advice: advise("allow it", line) };
  }
}
