/** Records of installed tools for agents. */
import { rmSync } from "node:fs";
import { isObject } from "../../../protocol/wire.ts";
import { isTextOrNull, readRecords, writeRecords } from "../../install/records.ts";
import type { Made } from "../../install/server-text.ts";

/** The record of one place with Kite's tools. */
export interface ServerRecord {
  /** The client's file, with links resolved. */
  readonly file: string;
  /** Null for all projects. */
  readonly project: string | null;
  /** True if Kite created the file. */
  readonly madeFile: boolean;
  /** Null if Kite found the entry in the file without a record. */
  readonly made: Made | null;
}

/** Returns all records. Throws as `readRecords` does. */
export function readServers(path: string): readonly ServerRecord[] {
  return readRecords(path, "servers", isRecord);
}

export function writeServers(path: string, servers: readonly ServerRecord[]): void {
  if (servers.length === 0) rmSync(path, { force: true });
  else writeRecords(path, "servers", servers);
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
