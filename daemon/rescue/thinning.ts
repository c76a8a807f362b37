/** Which versions go, and in which order. Pure. */
import { limits } from "../../protocol/limits.ts";
import type { Version, VersionTable } from "./versions.ts";

export interface Bounds {
  readonly bytesMax: number;
  readonly versionsMax: number;
  readonly keptMs: number;
}

export const storeBounds: Bounds = {
  bytesMax: limits.rescueStoreBytes,
  versionsMax: limits.rescueVersionsMax,
  keptMs: limits.rescueKeptMs,
};

/** What lasts longer than the rest. */
export interface Lasting {
  /** The file has uncommitted work: its last version stays, whatever the bounds say. */
  isDirty(path: string): boolean;
  /** The version brings back what was wiped: it goes only after all others that may go. */
  isWiped(n: number): boolean;
}

/**
 * A version is needless if the two of its file around it lie closer together than this part of its age, one pass after the
 * other: so older ones lie farther apart.
 */
const gaps = [1 / 16, 1 / 4, Number.POSITIVE_INFINITY] as const;

/**
 * Yields each version that has to go, and null for each other one that was looked at, so that the caller can let other work
 * run. The caller removes what is yielded before it goes on. First what is too old. If there is more than the bounds allow:
 * versions of a file that newer ones follow closely, then all but the last of each file, then last ones, the oldest first;
 * those of wipes after all others.
 */
export function* thinned(
  table: VersionTable,
  nowMs: number,
  lasting: Lasting,
  bounds: Bounds = storeBounds,
): Generator<Version | null, void> {
  const isKept = (version: Version) => table.nextOf(version) === null && lasting.isDirty(version.path);
  for (const version of table.oldestFirst()) {
    if (version.atMs >= nowMs - bounds.keptMs) break;
    yield isKept(version) ? null : version;
  }
  if (!isOver(table, bounds, 1)) return;
  for (const isOfWipe of [false, true]) {
    for (const gap of gaps)
      for (const version of table.oldestFirst()) {
        if (!isOver(table, bounds, limits.rescueLowPart)) return;
        const next = lasting.isWiped(version.n) === isOfWipe ? table.nextOf(version) : null;
        const isOlder = next !== null && isNeedless(version, table.previousOf(version), next, nowMs, gap);
        yield isOlder ? version : null;
      }
    for (const version of table.oldestFirst()) {
      if (!isOver(table, bounds, limits.rescueLowPart)) return;
      yield lasting.isWiped(version.n) !== isOfWipe || isKept(version) ? null : version;
    }
  }
}

function isNeedless(
  { atMs }: Version,
  previous: Version | null,
  next: Version,
  nowMs: number,
  gap: number,
): boolean {
  if (gap === Number.POSITIVE_INFINITY) return true;
  return previous !== null && next.atMs - previous.atMs <= (nowMs - atMs) * gap;
}

/** Whether there is more than this part of the bounds. */
export function isOver(table: VersionTable, { bytesMax, versionsMax }: Bounds, part: number): boolean {
  return table.bytes > bytesMax * part || table.size > versionsMax * part;
}
