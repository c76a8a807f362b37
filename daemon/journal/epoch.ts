import { join } from "node:path";
import { type Disk, diskCode, isNoSpace } from "./disk.ts";
import type { Reserve } from "./disk-full.ts";
import { journalFiles } from "./file-names.ts";
import { Manifest } from "./manifest.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { type Chain, readChain } from "./segments.ts";

export interface Claim {
  readonly chain: Chain;
  readonly epoch: number;
  readonly segment: SegmentWriter;
  /** Names the segment already. */
  readonly manifest: Manifest;
}

const attemptsMax = 10;

/**
 * Recovers the log after `after` and claims the next epoch by creating its first segment. When this resolves, the
 * epoch and every entry returned survive a power cut. Nobody else gets the same epoch, even if two start at once:
 * who meets somebody else's claim withdraws and looks again.
 */
export async function claimEpoch(disk: Disk, dir: string, after: number, reserve: Reserve): Promise<Claim> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const chain = readChain(disk, dir, after);
    await settleTail(disk, chain.tail);
    const epoch = chain.files.epoch + 1;
    try {
      const segment = await SegmentWriter.create(disk, dir, epoch, chain.last + 1);
      if (isAlone(disk, dir, epoch, segment.name)) {
        const manifest = new Manifest(disk, dir);
        await manifest.begin(epoch, chain.last + 1, chain.files.manifests);
        return { chain, epoch, segment, manifest };
      }
      segment.close();
      disk.unlink(join(dir, segment.name));
    } catch (error) {
      // A full disk has the reserve for this; an epoch that exists was somebody else's a moment earlier.
      if (isNoSpace(error) && attempt === 1) reserve.giveBack();
      else if (diskCode(error) !== "EEXIST") throw error;
    }
  }
  throw new Error(`another daemon keeps opening ${dir}; end it and start again`);
}

/** Cuts off what was torn, and syncs what a crash left unsynced, before anything is stored behind it. */
async function settleTail(disk: Disk, tail: Chain["tail"]): Promise<void> {
  if (tail === null) return;
  const file = disk.open(tail.path);
  try {
    if (tail.tornBytes > 0) file.truncate(tail.goodBytes);
    await file.syncAll();
  } finally {
    file.close();
  }
}

function isAlone(disk: Disk, dir: string, epoch: number, name: string): boolean {
  const { segments, snapshots } = journalFiles(disk, dir);
  return [...segments, ...snapshots].every(other => other.epoch !== epoch || other.name === name);
}
