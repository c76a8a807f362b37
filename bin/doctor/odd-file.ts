/** Says what is wrong with a file of Kite that cannot be used. */
import { lstatSync, statSync } from "node:fs";
import { kindOf } from "../../hooks/install/read-file.ts";

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
