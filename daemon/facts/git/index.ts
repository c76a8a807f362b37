/** Git's index, as `ls-files -s -t -z --debug` writes it. */
import type { BigIntStats } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { limits } from "../../../protocol/limits.ts";

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
  /(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0 {2}ctime: (\d+):(\d+)\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: (\d+)\n[^\n]*\n {2}size: (\d+)\t[^\n]*\n/y;

/**
 * Parses the index as `ls-files -s -t -z --debug` writes it, piece by piece. No other command shows the same without
 * running filters (`diff-files` does, for a file as new as the index).
 */
export class IndexParser {
  readonly #found: (file: string, entry: Staged) => void;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** Calls `found` for each entry, in git's order. */
  constructor(found: (file: string, entry: Staged) => void) {
    this.#found = found;
  }

  /** Parses a piece; false if git writes another form, as its manual reserves. */
  push(chunk: Buffer): boolean {
    const text = this.#rest + this.#decoder.write(chunk);
    let end = 0;
    for (;;) {
      entryPattern.lastIndex = end;
      const match = entryPattern.exec(text);
      if (match === null) break;
      end = entryPattern.lastIndex;
      const [, tag, mode = "", oid = "", stage, file = "", ...numbers] = match;
      const [cs = "0", cns = "0", ms = "0", mns = "0", ino = "0", size = "0"] = numbers;
      const mtimeNs = BigInt(ms) * 1_000_000_000n + BigInt(mns);
      const stat = `${BigInt(cs) * 1_000_000_000n + BigInt(cns)} ${mtimeNs} ${ino} ${size}`;
      this.#found(file, { mode, oid, isSkipped: tag === "S", isUnmerged: stage !== "0", stat, mtimeNs });
    }
    this.#rest = text.slice(end);
    return this.#rest.length <= limits.indexEntryChars;
  }

  /** Whether the pieces so far were whole entries. */
  get isWhole(): boolean {
    return this.#rest === "" && this.#decoder.end() === "";
  }
}

/** Parses all of git's output; null if git writes another form. */
export function entriesOf(out: string): Map<string, Staged> | null {
  const found = new Map<string, Staged>();
  const parser = new IndexParser((file, entry) => found.set(file, entry));
  parser.push(Buffer.from(out));
  return parser.isWhole ? found : null;
}

/** A stat as the index stores it, with 32 bits for each number. */
export function statText({ ctimeNs, mtimeNs, ino, size }: BigIntStats): string {
  return `${ctimeNs} ${mtimeNs} ${ino & 0xffffffffn} ${size & 0xffffffffn}`;
}
