/** The index of the store: lines of a checksum and JSON, appended, read at a start, written anew when most are dead. */
import { constants, fstatSync, lstatSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { checksum, isIntact } from "../journal/format/checksum.ts";

const newline = 0x0a;
const noFollow = constants.O_NOFOLLOW;

/**
 * Invariants: one write at a time; a line is whole or no line. Somebody may remove or cut the file while it is open: then it is
 * `isLost`, and nothing is appended before it is written anew. At most one sync runs, and no append waits for it.
 */
export class IndexFile {
  readonly path: string;
  readonly #onUnsynced: (error: unknown) => void;
  #handle: FileHandle | null = null;
  #lines = 0;
  #bytes = 0;
  #isUnsynced = false;
  #isSyncing = false;
  /** The last write may have left a part of a line. */
  #isTorn = false;

  /** `onUnsynced`: what was appended may not outlast a power cut. */
  constructor(path: string, onUnsynced: (error: unknown) => void) {
    this.path = path;
    this.#onUnsynced = onUnsynced;
  }

  /** Lines in the file, dead ones included. */
  get lines(): number {
    return this.#lines;
  }

  /**
   * Reads all lines, piece by piece, and opens the file for appending. Returns how many are not as they were written, a torn one
   * at the end included: those are left out, and whoever appends writes the file anew before. Throws the system's error.
   */
  async open(take: (record: unknown) => void): Promise<number> {
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
    let read = 0;
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
        } else if (end > start) damaged += 1;
        start = end + 1;
      }
      rest = bytes.subarray(start);
      // No line is so long: what follows up to its end is damaged, too.
      if (rest.length > limits.rescueLineBytes) rest = rest.subarray(-1);
      await turn();
    }
    this.#bytes = read;
    return damaged + (rest.length > 0 ? 1 : 0);
  }

  /** Whether the file is no longer the one that is open, or is shorter. Looks in this thread: the file is beside the journal. */
  get isLost(): boolean {
    if (this.#handle === null) return true;
    const own = fstatSync(this.#handle.fd);
    const there = lstatSync(this.path, { throwIfNoEntry: false });
    return there === undefined || own.ino !== there.ino || own.dev !== there.dev || own.size < this.#bytes;
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
      this.#bytes = fstatSync(handle.fd).size;
      void this.#sync();
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

  /** Brings to the disk what was appended, and then what was appended meanwhile. */
  async #sync(): Promise<void> {
    this.#isUnsynced = true;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    try {
      while (this.#isUnsynced && this.#handle !== null) {
        this.#isUnsynced = false;
        await this.#handle.datasync();
      }
    } catch (error) {
      this.#onUnsynced(error);
    } finally {
      this.#isSyncing = false;
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
      const folder = await open(dirname(this.path));
      await folder.sync().finally(() => folder.close());
    } catch (error) {
      await handle.close();
      await rm(temporary, { force: true });
      throw error;
    }
    const before = this.#handle;
    this.#handle = handle;
    this.#lines = lines;
    this.#bytes = fstatSync(handle.fd).size;
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

/** Returns the line of a record. */
export function lineOf(record: unknown): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}
