/** The records of installs, which `kite uninstall` undoes: a list in a JSON file. */

import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import { InstallFailed, readIfAny, writeWhole } from "./file.ts";
import type { Created } from "./hooks-text.ts";

/** Returns the list named `field`; empty without a file. Throws if unreadable: a guess would leave entries behind. */
export function readRecords<T>(
  path: string,
  field: string,
  isRecord: (value: unknown) => value is T,
): readonly T[] {
  const bytes = readIfAny(path, limits.settingsBytes);
  if (bytes === null) return [];
  try {
    const whole: unknown = JSON.parse(bytes.toString("utf8"));
    const list = isObject(whole) ? whole[field] : null;
    if (Array.isArray(list) && list.every(isRecord)) return list;
  } catch {
    // The error below covers this case and any other unknown content.
  }
  throw new InstallFailed(`${path} cannot be read; move it away, then uninstall by project`);
}

export function writeRecords(path: string, field: string, list: readonly unknown[]): void {
  writeWhole(path, `${JSON.stringify({ version: 1, [field]: list }, null, 2)}\n`, 0o600);
}

export function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

// Records of installed hooks.

/** The record of one `kite install` in one settings file. */
export interface Install {
  /** The name of the client whose file it is; absent: Claude Code. */
  readonly client?: string;
  /** The written file, with links resolved. */
  readonly file: string;
  /** Copy of the file from before the first install; null if there was no file. */
  readonly backup: string | null;
  /** True if `install` created the file, and its folder. */
  readonly madeFile: boolean;
  readonly madeFolder: boolean;
  /** Hash of the last written text; null if another program had changed the file by then. */
  readonly sha256: string | null;
  /** Null if `install` found the entries in the file without a record. */
  readonly created: Created | null;
  /** The file is a project's committed one: its entries are the team's, and stay when this machine loses Kite. */
  readonly isShared?: true;
}

/** Returns all records, one per file. Throws as `readRecords` does. */
export function readInstalls(path: string): readonly Install[] {
  return readRecords(path, "installs", isInstall);
}

/** Returns the records of one client; null: Claude Code. Throws as `readRecords` does. */
export function installsOf(path: string, client: string | null): readonly Install[] {
  return readInstalls(path).filter(one => (one.client ?? null) === client);
}

export function writeInstalls(path: string, installs: readonly Install[]): void {
  writeRecords(path, "installs", installs);
}

function isInstall(value: unknown): value is Install {
  return (
    isObject(value) &&
    typeof value["file"] === "string" &&
    (value["client"] === undefined || typeof value["client"] === "string") &&
    isTextOrNull(value["backup"]) &&
    typeof value["madeFile"] === "boolean" &&
    typeof value["madeFolder"] === "boolean" &&
    isTextOrNull(value["sha256"]) &&
    (value["created"] === null || isCreated(value["created"]))
  );
}

function isCreated(value: unknown): value is Created {
  return (
    isObject(value) &&
    typeof value["hooks"] === "boolean" &&
    Array.isArray(value["events"]) &&
    value["events"].every(e => typeof e === "string")
  );
}
