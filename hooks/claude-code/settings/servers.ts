import { rmSync } from "node:fs";
import { limits } from "../../../protocol/limits.ts";
import { InstallFailed } from "../../install/failed.ts";
import { readIfAny, writeWhole } from "../../install/file.ts";
import type { Made } from "./server-text.ts";

/** Where the client was told of Kite's tools. */
export interface ServerRecord {
  /** The client's file, behind links. */
  readonly file: string;
  /** Null: for all projects. */
  readonly project: string | null;
  /** The file was not there before. */
  readonly madeFile: boolean;
  /** Null where the entry was found there, without a record. */
  readonly made: Made | null;
}

/** Everything recorded. Throws where the record cannot be read: guessing would leave entries behind. */
export function readServers(path: string): readonly ServerRecord[] {
  const bytes = readIfAny(path, limits.settingsBytes);
  if (bytes === null) return [];
  try {
    const record: unknown = JSON.parse(bytes.toString("utf8"));
    if (isObject(record) && Array.isArray(record["servers"]) && record["servers"].every(isRecord)) {
      return record["servers"];
    }
  } catch {
    // Said below, as for any other content that is not ours.
  }
  throw new InstallFailed(`${path} cannot be read; move it away, then uninstall by project`);
}

export function writeServers(path: string, servers: readonly ServerRecord[]): void {
  if (servers.length === 0) rmSync(path, { force: true });
  else writeWhole(path, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`, 0o600);
}

function isRecord(value: unknown): value is ServerRecord {
  return (
    isObject(value) &&
    typeof value["file"] === "string" &&
    isTextOrNull(value["project"]) &&
    typeof value["madeFile"] === "boolean" &&
    (value["made"] === null || isMade(value["made"]))
  );
}

function isMade(value: unknown): value is Made {
  const isPlace = (from: unknown) => from === null || typeof from === "number";
  return isObject(value) && isPlace(value["from"]) && isTextOrNull(value["empty"]);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
