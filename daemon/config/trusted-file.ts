/**
 * `trusted.json` of Kite's own directory: which projects' checks a person has trusted, by the hash of their text.
 * `kite trust` writes it. A text that was trusted before the latest one is not: else an agent could bring back weaker checks.
 */
import { isObject } from "../../protocol/wire.ts";
import { type Check, checksHash } from "./checks.ts";

/** The text of a project's checks that a person trusted. */
export interface TrustedText {
  readonly hash: string;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** By the path of the project's file, below the project's real path. */
export type TrustedFiles = ReadonlyMap<string, TrustedText>;

/**
 * - `trusted`: a person trusted this very text.
 * - `changed`: a person trusted another text; that there are no checks any more is a change, too.
 * - `untrusted`: no person has trusted the checks.
 * - `none`: there are no checks, and were none.
 */
export type Trust = "trusted" | "changed" | "untrusted" | "none";

/** Returns the path of the file that names a project's checks. */
export function projectFile(project: string): string {
  return project === "/" ? "/.kite/config.json" : `${project}/.kite/config.json`;
}

export function trustOf(trusted: TrustedFiles, file: string, checks: readonly Check[]): Trust {
  const known = trusted.get(file);
  if (known !== undefined) return known.hash === checksHash(checks) ? "trusted" : "changed";
  return checks.length === 0 ? "none" : "untrusted";
}

/** Parses the file; null if Kite did not write it so. */
export function parseTrusted(text: string): TrustedFiles | null {
  const read = parsed(text);
  if (!isObject(read) || !isObject(read["files"])) return null;
  const files = new Map<string, TrustedText>();
  for (const [file, value] of Object.entries(read["files"])) {
    if (!isObject(value) || typeof value["hash"] !== "string" || typeof value["at"] !== "number") return null;
    files.set(file, { hash: value["hash"], at: value["at"] });
  }
  return files;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports that Kite did not write the file so.
    return null;
  }
}
