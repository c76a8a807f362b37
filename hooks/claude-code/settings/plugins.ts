/** Records of the plugins that `kite plugin` made. */
import { rmSync } from "node:fs";
import { isObject } from "../../../protocol/wire.ts";
import { readRecords, writeRecords } from "../../install/records.ts";

/** The record of one folder with a plugin. */
export interface PluginRecord {
  /** The folder, as a real path. */
  readonly folder: string;
  /** The files that Kite wrote there, relative to it, each with the hash of its text. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns all records, one per folder. Throws as `readRecords` does. */
export function readPlugins(path: string): readonly PluginRecord[] {
  return readRecords(path, "plugins", isRecord);
}

export function writePlugins(path: string, plugins: readonly PluginRecord[]): void {
  if (plugins.length === 0) rmSync(path, { force: true });
  else writeRecords(path, "plugins", plugins);
}

function isRecord(value: unknown): value is PluginRecord {
  return (
    isObject(value) &&
    typeof value["folder"] === "string" &&
    isObject(value["files"]) &&
    Object.values(value["files"]).every(hash => typeof hash === "string")
  );
}
