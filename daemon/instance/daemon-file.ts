/** Reads and writes `daemon.json`. */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";

/** `daemon.json`: the process that serves the socket. `pid` and `startTime` identify it for good. */
export interface DaemonFile {
  readonly pid: number;
  readonly startTime: string;
  readonly version: string;
  readonly protocol: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly socket: string;
}

/** Replaces the file as a whole, so a reader sees the old or the new one. Only for the holder of the lock. */
export function writeDaemonFile(paths: KitePaths, file: DaemonFile): void {
  const temporary = `${paths.daemonFile}.new`;
  writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, paths.daemonFile);
}

/** Returns the last daemon's file, or null if it is missing or unreadable. That daemon may be dead. */
export function readDaemonFile(paths: KitePaths): DaemonFile | null {
  try {
    const stat = statSync(paths.daemonFile);
    if (!stat.isFile() || stat.size > limits.smallFileBytes) return null;
    const value: unknown = JSON.parse(readFileSync(paths.daemonFile, "utf8"));
    return isDaemonFile(value) ? value : null;
  } catch {
    // Missing and damaged are the same: the socket then tells whether a daemon runs.
    return null;
  }
}

function isDaemonFile(value: unknown): value is DaemonFile {
  if (typeof value !== "object" || value === null) return false;
  const file = new Map<string, unknown>(Object.entries(value));
  const strings = ["startTime", "version", "storeId", "socket"];
  const numbers = ["pid", "protocol", "epoch"];
  return (
    strings.every(name => typeof file.get(name) === "string") &&
    numbers.every(name => Number.isSafeInteger(file.get(name)))
  );
}
