/** Records of installed hooks. */
import { isObject } from "../../protocol/wire.ts";
import type { Created } from "./hooks-text.ts";
import { isTextOrNull, readRecords, writeRecords } from "./records.ts";

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
