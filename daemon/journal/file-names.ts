/** Names and finds the files of a journal's directory. */
import type { Disk } from "./disk.ts";

/**
 * The files of a journal's directory. Their names are numbers of fixed width, so that their order as text is
 * their order in time:
 *
 *     0000000003-0000000000000101.log        segment of epoch 3; its first entry is (or would be) 101
 *     0000000003-0000000000000150.snapshot   the state after entry 150, taken in epoch 3
 *     0000000003-0000000000000101-0000000000000148.manifest
 *                                            how far the log went (manifest.ts): the last segment is that of
 *                                            epoch 3 whose first entry is 101, entries up to 148 are durable
 *     *.tmp                                  a snapshot that was never finished
 *     reserve                                space that the journal frees when the disk is full
 */
export interface JournalFiles {
  /** Oldest first. */
  readonly segments: readonly SegmentName[];
  /** Newest first. */
  readonly snapshots: readonly SnapshotName[];
  /** Oldest first; empty if an earlier Kite without manifests wrote the journal. */
  readonly manifests: readonly ManifestName[];
  readonly unfinished: readonly string[];
  /** The highest epoch in any file name; 0 if there is none. */
  readonly epoch: number;
}

export interface SegmentName {
  readonly name: string;
  readonly epoch: number;
  readonly first: number;
}

export interface SnapshotName {
  readonly name: string;
  readonly epoch: number;
  readonly seq: number;
}

export interface ManifestName {
  readonly name: string;
  /** The epoch of the segment that the manifest names. */
  readonly epoch: number;
  readonly first: number;
  readonly durable: number;
}

export const reserveName = "reserve";

export function segmentName(epoch: number, first: number): string {
  return `${numbers(epoch, first)}.log`;
}

export function snapshotName(epoch: number, seq: number): string {
  return `${numbers(epoch, seq)}.snapshot`;
}

export function manifestName(epoch: number, first: number, durable: number): string {
  return `${numbers(epoch, first)}-${seqText(durable)}.manifest`;
}

/** Lists a directory's journal files; skips files with other names. */
export function journalFiles(disk: Disk, dir: string): JournalFiles {
  const segments: SegmentName[] = [];
  const snapshots: SnapshotName[] = [];
  const manifests: ManifestName[] = [];
  const unfinished: string[] = [];
  let highest = 0;
  for (const name of disk.list(dir)) {
    const [, left, right, third, kind] = ours.exec(name) ?? [];
    if (left === undefined || right === undefined || (third !== undefined) !== (kind === "manifest"))
      continue;
    const epoch = Number(left);
    const seq = Number(right);
    highest = Math.max(highest, epoch);
    if (kind === "log") segments.push({ name, epoch, first: seq });
    else if (kind === "manifest") manifests.push({ name, epoch, first: seq, durable: Number(third) });
    else if (kind === "snapshot") snapshots.push({ name, epoch, seq });
    else unfinished.push(name);
  }
  segments.sort(compareSegments);
  manifests.sort((a, b) => compareSegments(a, b) || a.durable - b.durable);
  snapshots.sort((a, b) => b.seq - a.seq || b.epoch - a.epoch);
  return { segments, snapshots, manifests, unfinished, epoch: highest };
}

/** Orders segments by the time they were begun. */
export function compareSegments(
  a: Pick<SegmentName, "epoch" | "first">,
  b: Pick<SegmentName, "epoch" | "first">,
): number {
  return a.epoch - b.epoch || a.first - b.first;
}

const ours = /^(\d{10})-(\d{16})(?:-(\d{16}))?\.(log|snapshot|snapshot\.tmp|manifest)$/;

function numbers(epoch: number, seq: number): string {
  return `${String(epoch).padStart(10, "0")}-${seqText(seq)}`;
}

function seqText(seq: number): string {
  return String(seq).padStart(16, "0");
}
