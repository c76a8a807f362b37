import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";

/** `daemon.json`: who serves the socket. `pid` and `startTime` name the process for good. */
export interface DaemonFile {
  readonly pid: number;
  readonly startTime: string;
  readonly version: string;
  readonly protocol: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly socket: string;
}

/** Writes it so that a reader sees the old one or the new one, whole. Only for the holder of the lock. */
export function writeDaemonFile(paths: KitePaths, file: DaemonFile): void {
  const temporary = `${paths.daemonFile}.new`;
  writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, paths.daemonFile);
}

/**
 * What the last daemon wrote, or null where none did or it is not readable as such. It may have died since.
 */
export function readDaemonFile(paths: KitePaths): DaemonFile | null {
  try {
    const stat = statSync(paths.daemonFile);
    if (!stat.isFile() || stat.size > limits.smallFileBytes) return null;
    const value: unknown = JSON.parse(readFileSync(paths.daemonFile, "utf8"));
    return isDaemonFile(value) ? value : null;
  } catch {
    // Absent or damaged: either way it tells nothing, and the socket does.
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
