import { limits } from "../../../protocol/limits.ts";
import { InstallFailed } from "../../install/failed.ts";
import { readIfAny, writeWhole } from "../../install/file.ts";
import type { Created } from "./settings-text.ts";

/** What one `kite install` did to one settings file. */
export interface Install {
  /** The file that was written, behind links. */
  readonly file: string;
  /** Copy of the file as it was before the first install; null where there was no file. */
  readonly backup: string | null;
  /** The file was not there before; nor its folder. */
  readonly madeFile: boolean;
  readonly madeFolder: boolean;
  /** Of what was written last; null where the file held more than Kite's changes by then. */
  readonly sha256: string | null;
  /** Null where the entries were found there, without a record. */
  readonly created: Created | null;
}

/** Everything installed, by file. Throws where the record cannot be read: guessing would leave entries behind. */
export function readInstalls(path: string): readonly Install[] {
  const bytes = readIfAny(path, limits.settingsBytes);
  if (bytes === null) return [];
  try {
    const record: unknown = JSON.parse(bytes.toString("utf8"));
    if (isObject(record) && Array.isArray(record["installs"]) && record["installs"].every(isInstall)) {
      return record["installs"];
    }
  } catch {
    // Said below, as for any other content that is not ours.
  }
  throw new InstallFailed(`${path} cannot be read; move it away, then uninstall by project`);
}

export function writeInstalls(path: string, installs: readonly Install[]): void {
  writeWhole(path, `${JSON.stringify({ version: 1, installs }, null, 2)}\n`, 0o600);
}

function isInstall(value: unknown): value is Install {
  return (
    isObject(value) &&
    typeof value["file"] === "string" &&
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

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
