/** Git's index, as `ls-files -s -t -z --debug` writes it. */
import type { BigIntStats } from "node:fs";

/** A file's entry in the index. */
export interface Staged {
  readonly mode: string;
  readonly oid: string;
  /** Sparse checkout: the file is intentionally not in the working tree. */
  readonly isSkipped: boolean;
  readonly isUnmerged: boolean;
  /** The file's stat when it last equalled the index: change time, modification time, inode, size. */
  readonly stat: string;
  readonly mtimeNs: bigint;
}

const entryPattern =
  /(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0 {2}ctime: (\d+):(\d+)\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: (\d+)\n[^\n]*\n {2}size: (\d+)\t[^\n]*\n/g;

/**
 * Parses the index as `ls-files -s -t -z --debug` writes it. Null if git writes another form, as its manual reserves.
 * No other command shows the same without running filters (`diff-files` does, for a file as new as the index).
 */
export function entriesOf(out: string): Map<string, Staged> | null {
  const found = new Map<string, Staged>();
  let chars = 0;
  for (const [whole, tag, mode = "", oid = "", stage, file = "", ...numbers] of out.matchAll(entryPattern)) {
    const [cs = "0", cns = "0", ms = "0", mns = "0", ino = "0", size = "0"] = numbers;
    const mtimeNs = BigInt(ms) * 1_000_000_000n + BigInt(mns);
    const stat = `${BigInt(cs) * 1_000_000_000n + BigInt(cns)} ${mtimeNs} ${ino} ${size}`;
    found.set(file, { mode, oid, isSkipped: tag === "S", isUnmerged: stage !== "0", stat, mtimeNs });
    chars += whole.length;
  }
  return chars === out.length ? found : null;
}

/** A stat as the index stores it, with 32 bits for each number. */
export function statText({ ctimeNs, mtimeNs, ino, size }: BigIntStats): string {
  return `${ctimeNs} ${mtimeNs} ${ino & 0xffffffffn} ${size & 0xffffffffn}`;
}
