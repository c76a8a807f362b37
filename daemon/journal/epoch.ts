import { join } from "node:path";
import { type Disk, diskCode, isNoSpace } from "./disk.ts";
import type { Reserve } from "./disk-full.ts";
import { journalFiles } from "./file-names.ts";
import type { Found } from "./journal.ts";
import { Manifest } from "./manifest.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { type Chain, readChain } from "./segments.ts";

export interface Claim {
  readonly chain: Chain;
  /** Bytes of the entries that were handed on. */
  readonly newBytes: number;
  readonly epoch: number;
  readonly segment: SegmentWriter;
  /** A manifest that already names the segment. */
  readonly manifest: Manifest;
}

const attemptsMax = 10;

/**
 * Recovers the log after `after`, hands its entries to `found`, and claims the next epoch by creating its first segment.
 * Once this resolves, the epoch and every one of these entries survive a power cut. No two starts get the same epoch,
 * even at the same time: a start that meets another one's claim withdraws and tries again. The epoch is later than
 * `epochAfter`, too.
 */
export async function claimEpoch(
  disk: Disk,
  dir: string,
  after: number,
  reserve: Reserve,
  found: Found,
  epochAfter = 0,
): Promise<Claim> {
  let last = after;
  let newBytes = 0;
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const chain = readChain(disk, dir, last, found);
    ({ last } = chain);
    newBytes += chain.newBytes;
    await settleTail(disk, chain.tail);
    const epoch = Math.max(chain.files.epoch, epochAfter) + 1;
    try {
      const segment = await SegmentWriter.create(disk, dir, epoch, chain.last + 1);
      if (isAlone(disk, dir, epoch, segment.name)) {
        const manifest = new Manifest(disk, dir);
        await manifest.begin(epoch, chain.last + 1, chain.files.manifests);
        return { chain, newBytes, epoch, segment, manifest };
      }
      segment.close();
      disk.unlink(join(dir, segment.name));
    } catch (error) {
      // If the disk is full, the reserve makes room. If the epoch exists, another start claimed it a moment ago.
      if (isNoSpace(error) && attempt === 1) reserve.giveBack();
      else if (diskCode(error) !== "EEXIST") throw error;
    }
  }
  throw new Error(`another daemon keeps opening ${dir}; end it and start again`);
}

/** Cuts off a torn tail, and syncs entries that a crash left unsynced, before anything is stored behind them. */
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
