/**
 * `trusted.json` of Kite's own directory: which projects' checks and gates a person has trusted, by the hash of their text.
 * `kite check --trust` writes it. Trusted gates stay in force whatever becomes of the project's file. A text that was trusted before the latest one is not: else an agent could bring back weaker checks.
 */

import type { Gates } from "../../../protocol/lead/roles.ts";
import { isObject } from "../../../protocol/wire.ts";
import { gatesSchema } from "../gates/setting.ts";
import { type Check, checksIn, type TrustedParts, trustHash } from "./setting.ts";

/** The text of a project's checks and gates that a person trusted. */
export interface TrustedText {
  readonly hash: string;
  /** Null: the file set none. */
  readonly gates: Gates | null;
  /** The checks, to show what changed since; null: there was no room for them. No program runs them. */
  readonly checks: readonly Check[] | null;
  /** As the checks: to show what changed; absent: it named none, or there was no room. */
  readonly setup?: string;
  /** Programs of the repository's own git configuration, by the names of their settings; absent: none. */
  readonly programs?: ReadonlyMap<string, string>;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** By the path of the project's file, below the project's real path. */
export type TrustedFiles = ReadonlyMap<string, TrustedText>;

/**
 * - `trusted`: a person trusted this very text.
 * - `changed`: a person trusted another text; that there are no checks or gates any more is a change, too.
 * - `untrusted`: no person has trusted the checks and gates.
 * - `none`: there are neither checks nor gates, and were none.
 */
export type Trust = "trusted" | "changed" | "untrusted" | "none";

/** Returns the path of the file that names a project's checks. */
export function projectFile(project: string): string {
  return project === "/" ? "/.kite/config.json" : `${project}/.kite/config.json`;
}

export function trustOf(trusted: TrustedFiles, file: string, parts: TrustedParts): Trust {
  const known = trusted.get(file);
  if (known !== undefined) return known.hash === trustHash(parts) ? "trusted" : "changed";
  return isNothing(parts) ? "none" : "untrusted";
}

/** Whether there is nothing to trust. */
export function isNothing({ checks, gates, setup = null }: TrustedParts): boolean {
  return checks.length === 0 && gates === null && setup === null;
}

/** Parses the file; null if Kite did not write it so. */
export function parseTrusted(text: string): TrustedFiles | null {
  const read = parsed(text);
  if (!isObject(read) || !isObject(read["files"])) return null;
  const files = new Map<string, TrustedText>();
  for (const [file, value] of Object.entries(read["files"])) {
    if (!isObject(value) || typeof value["hash"] !== "string" || typeof value["at"] !== "number") return null;
    const gates = value["gates"] === undefined ? null : gatesSchema.safeParse(value["gates"]);
    if (gates?.success === false) return null;
    const checks = value["checks"] === undefined ? null : checksIn(value["checks"], "", []);
    const setup = typeof value["setup"] === "string" ? { setup: value["setup"] } : {};
    files.set(file, {
      hash: value["hash"],
      at: value["at"],
      gates: gates?.data ?? null,
      checks,
      ...setup,
      ...programsIn(value["programs"]),
    });
  }
  return files;
}

/** Anything but a text is left out: what is not there is not trusted. */
function programsIn(value: unknown): Pick<TrustedText, "programs"> {
  if (!isObject(value)) return {};
  const all = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return { programs: new Map(all) };
}

/** Returns the hash that a person trusted by project; null if Kite did not write the text so. */
export function trustedIn(text: string): ReadonlyMap<string, string> | null {
  const files = text === "" ? new Map<string, TrustedText>() : parseTrusted(text);
  return files === null ? null : new Map([...files].map(([file, { hash }]) => [projectOf(file), hash]));
}

/** Returns the project of a file that names checks. */
function projectOf(file: string): string {
  return file.replace(/\/\.kite\/config\.json$/, "") || "/";
}

/** Returns the file's text; without the checks themselves if `isShort`. */
export function trustedText(files: TrustedFiles, isShort: boolean): string {
  const entries = [...files].map(([file, { hash, at, gates, checks, setup, programs }]) => {
    const named = (checks ?? []).map(({ name, command, when }) => [
      name,
      when === null ? { command } : { command, when },
    ]);
    const line = setup === undefined ? {} : { setup };
    const shown = isShort || checks === null ? {} : { checks: Object.fromEntries(named), ...line };
    const own = programs === undefined ? {} : { programs: Object.fromEntries(programs) };
    return [file, { hash, at, ...(gates === null ? {} : { gates }), ...own, ...shown }];
  });
  return `${JSON.stringify({ version: 1, files: Object.fromEntries(entries) }, null, 2)}\n`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports that Kite did not write the file so.
    return null;
  }
}
