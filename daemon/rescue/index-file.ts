/** The index of the store: lines of a checksum and JSON, appended, read at a start, written anew when most are dead. */
import { constants, fstatSync, lstatSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { checksum, isIntact } from "../journal/format/checksum.ts";

/** What a start found in the index. */
export interface IndexRead {
  /** Lines that are not as they were written; they are left out. */
  readonly damaged: number;
  /** Bytes of a torn line that were cut off the end. */
  readonly cutBytes: number;
}

const newline = 0x0a;
const noFollow = constants.O_NOFOLLOW;

/**
 * Invariants: one write at a time; a line is whole or no line. Somebody may remove the file while it is open: then it is
 * `isLost`, and nothing is appended before it is written anew.
 */
export class IndexFile {
  readonly path: string;
  #handle: FileHandle | null = null;
  #lines = 0;
  /** The last write may have left a part of a line. */
  #isTorn = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Lines in the file, dead ones included. */
  get lines(): number {
    return this.#lines;
  }

  /** Reads all lines, piece by piece, and opens the file for appending. Throws the system's error. */
  async open(take: (record: unknown) => void): Promise<IndexRead> {
    const handle = await open(
      this.path,
      constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | noFollow,
      0o600,
    );
    await this.close();
    this.#handle = handle;
    this.#lines = 0;
    let damaged = 0;
    let rest: Buffer = Buffer.alloc(0);
    let [read, whole] = [0, 0];
    const piece = Buffer.alloc(limits.rescueIndexBytesPerTurn);
    for (;;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, read);
      if (bytesRead === 0) break;
      read += bytesRead;
      const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
      let start = 0;
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
        if (isIntact(bytes, start, end)) {
          take(JSON.parse(bytes.toString("utf8", start + 9, end)));
          this.#lines += 1;
          whole = read - bytes.length + end + 1;
        } else if (end > start) damaged += 1;
        start = end + 1;
      }
      rest = bytes.subarray(start);
      // No line is so long: what follows up to its end is damaged, too.
      if (rest.length > limits.rescueLineBytes) rest = rest.subarray(-1);
      await turn();
    }
    if (read > whole) await handle.truncate(whole);
    return { damaged, cutBytes: read - whole };
  }

  /** Whether the file is no longer the one that is open. Looks in this thread: the file is beside the journal. */
  get isLost(): boolean {
    if (this.#handle === null) return true;
    const own = fstatSync(this.#handle.fd);
    const there = lstatSync(this.path, { throwIfNoEntry: false });
    return there === undefined || own.ino !== there.ino || own.dev !== there.dev;
  }

  /** Appends records. Throws the system's error: then none of them counts. */
  async append(records: readonly unknown[]): Promise<void> {
    const handle = this.#handle;
    if (handle === null) throw new Error("the index of the rescue store is not open");
    const text = records.map(lineOf).join("");
    const { size } = fstatSync(handle.fd);
    try {
      // An empty line is no line: it ends what an earlier write left.
      appendNow(handle.fd, this.#isTorn ? `\n${text}` : text);
      this.#isTorn = false;
      this.#lines += records.length;
    } catch (error) {
      this.#isTorn = true;
      await handle.truncate(size).then(
        () => {
          this.#isTorn = false;
        },
        () => {
          // The next write begins on a new line; a start leaves the damaged one out.
        },
      );
      throw error;
    }
  }

  /** Writes the file anew, piece by piece: a temporary file takes its place. Throws the system's error; then the old one stays. */
  async rewrite(records: Iterable<unknown>): Promise<void> {
    const temporary = `${this.path}.new`;
    await rm(temporary, { force: true });
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | noFollow;
    const handle = await open(temporary, flags, 0o600);
    let lines = 0;
    try {
      let text = "";
      for (const record of records) {
        text += lineOf(record);
        lines += 1;
        if (text.length < limits.rescueIndexBytesPerTurn) continue;
        await handle.appendFile(text);
        text = "";
      }
      await handle.appendFile(text);
      await handle.datasync();
      await rename(temporary, this.path);
    } catch (error) {
      await handle.close();
      await rm(temporary, { force: true });
      throw error;
    }
    const before = this.#handle;
    this.#handle = handle;
    this.#lines = lines;
    this.#isTorn = false;
    await before?.close();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }
}

/** Appends a few lines in this thread, as the journal beside them is written. A full disk takes a part, and throws with the rest. */
function appendNow(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function lineOf(record: unknown): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}
