/** Reads all segments of a journal at a start. */
import { join } from "node:path";
import type { Disk } from "./disk.ts";
import {
  compareSegments,
  type JournalFiles,
  journalFiles,
  type ManifestName,
  type SegmentName,
  segmentName,
} from "./file-names.ts";
import { type Found, JournalDamaged } from "./journal.ts";
import { scanSegment } from "./segment.ts";

/**
 * The segments of a directory as one log. Each segment is synced before the next one is created, so a crash or power
 * cut can tear only the last one: at its end, and by one write. A fault elsewhere is damage, and so is a log that ends
 * before its manifest says. The start then stops rather than drop acknowledged entries.
 */
export interface Chain {
  readonly files: JournalFiles;
  /** The last stored entry; 0 if there is none. */
  readonly last: number;
  /** Bytes of the entries after `after`. */
  readonly newBytes: number;
  /** The last segment, and the end of its last entry. */
  readonly tail: { readonly path: string; readonly goodBytes: number; readonly tornBytes: number } | null;
}

/**
 * Hands the entries after `after` to `found` as it reads them, in order; throws `JournalDamaged` with file and line.
 * Changes nothing.
 */
export function readChain(disk: Disk, dir: string, after: number, found: Found): Chain {
  const files = journalFiles(disk, dir);
  const needed = neededSegments(files.segments, after);
  let last = after;
  let newBytes = 0;
  let behindBytes = needed.reduce((sum, { name }) => sum + (disk.size(join(dir, name)) ?? 0), 0);
  let tail: Chain["tail"] = null;
  checkLastSegment(dir, files);
  checkSuccessors(disk, dir, files.segments);
  checkBegin(dir, files, needed[0], after);
  for (const [i, segment] of needed.entries()) {
    const path = join(dir, segment.name);
    if (i > 0 && segment.first !== last + 1) {
      throw damaged(dir, `${path} begins with entry ${segment.first}, but entry ${last + 1} comes next`);
    }
    const scan = scanSegment(disk.parts(path), segment.first, after, (entry, end) =>
      found(entry, behindBytes - end),
    );
    if (scan.fault !== null && !(scan.fault.torn && i === needed.length - 1)) {
      throw damaged(dir, `${path}: line ${scan.fault.line} ${scan.fault.reason}`);
    }
    last = scan.last;
    newBytes += scan.newBytes;
    behindBytes -= scan.goodBytes;
    tail = { path, goodBytes: scan.goodBytes, tornBytes: scan.tornBytes };
  }
  if (last < after) {
    throw damaged(dir, `the log ends with entry ${last}, but the snapshot holds entries up to ${after}`);
  }
  for (const manifest of files.manifests) {
    if (manifest.durable <= last) continue;
    const what = `the log ends with entry ${last}, but entries up to ${manifest.durable} were safe on disk`;
    throw damaged(dir, what, manifest);
  }
  return { files, last, newBytes, tail };
}

/** Segments that may hold entries after `after`, and always the last one. */
function neededSegments(segments: readonly SegmentName[], after: number): readonly SegmentName[] {
  const behind = segments.findLastIndex(segment => segment.first <= after + 1);
  return segments.slice(Math.max(behind, 0));
}

/** Throws if the last segment that a manifest names is missing: only a later segment may replace it. */
function checkLastSegment(dir: string, { segments, manifests }: JournalFiles): void {
  const there = segments.at(-1);
  const manifest = manifests.at(-1);
  if (manifest === undefined || (there !== undefined && compareSegments(there, manifest) >= 0)) return;
  const path = join(dir, segmentName(manifest.epoch, manifest.first));
  throw damaged(dir, `its last segment ${path} is missing, with entries from ${manifest.first} on`, manifest);
}

/** Throws if two segments begin with the same entry: two daemons wrote at once. */
function checkSuccessors(disk: Disk, dir: string, segments: readonly SegmentName[]): void {
  for (const [i, { name, first }] of segments.entries()) {
    const next = segments[i + 1];
    if (next === undefined || next.first > first) continue;
    const path = join(dir, name);
    if (next.first === first && (disk.size(path) ?? 0) === 0) continue;
    throw damaged(
      dir,
      `entry ${next.first} is both in ${path} and in ${next.name}: two daemons wrote at once`,
    );
  }
}

function checkBegin(dir: string, files: JournalFiles, first: SegmentName | undefined, after: number): void {
  const next = after + 1;
  if (first === undefined) {
    if (after === 0) return;
    throw damaged(dir, `there is a snapshot of entry ${after}, but no log`);
  }
  if (first.first <= next) return;
  const missing = `entries ${next} to ${first.first - 1} are missing: the log begins with ${first.name}`;
  const [newest] = files.snapshots;
  if (newest === undefined || newest.seq <= after) throw damaged(dir, missing);
  throw damaged(dir, `${missing}, and ${join(dir, newest.name)} is damaged`);
}

/** With `manifest`, the error offers to remove that file: a start without it accepts the remaining log. */
function damaged(dir: string, what: string, manifest?: ManifestName): JournalDamaged {
  const without =
    manifest === undefined ? "" : `. To go on without what is missing, remove ${join(dir, manifest.name)}`;
  return new JournalDamaged(
    `the journal is damaged: ${what}. To save what can be read: kite repair. Or restore ${dir} from a backup, or move it away to begin with an empty store: kite up --empty${without}`,
  );
}
