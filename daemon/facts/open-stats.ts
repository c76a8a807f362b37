/**
 * Files `/proc/<pid>/stat` that are kept open, because the same processes are checked every second: to read an open
 * one again costs a tenth of opening it. An open file belongs to its very process. It cannot be read any more when that
 * process is gone, even if its pid is used again.
 *
 * Beside each one `/proc/<pid>/statm` is kept open, which costs a third to read: a process that has memory lives. Only a
 * few looks in a row are content with that.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";

interface Shown {
  readonly zombie: boolean;
  readonly stopped: boolean;
}

interface OpenStat<Row> {
  readonly fd: number;
  readonly memoryFd: number;
  /** What was read last, and what it said: a process at rest says the same again. */
  bytes: Buffer;
  row: Row | null;
  /** Looks that may still take `row` for the truth if the process has memory. */
  looksLeft: number;
}

const filesPerProcess = 2;

/** At most `limits.statsOpenMax` files; a process beyond that is for the caller to read. */
export class OpenStats<Row extends Shown> {
  readonly #open = new Map<number, OpenStat<Row>>();
  readonly #buffer = Buffer.alloc(limits.statBytes);
  readonly #parse: (text: string) => Row | null;

  constructor(parse: (text: string) => Row | null) {
    this.#parse = parse;
  }

  /** Returns a process's row; null if it has to be read in another way: it is gone, there is no room, or an error. */
  read(pid: number): Row | null {
    const known = this.#open.get(pid) ?? this.#opened(pid);
    if (known === null) return null;
    try {
      if (known.looksLeft > 0 && this.#hasMemory(known)) {
        known.looksLeft -= 1;
        return known.row;
      }
      const size = readSync(known.fd, this.#buffer, 0, this.#buffer.length, 0);
      if (size === 0 || size === this.#buffer.length) return this.#closed(pid, known);
      const bytes = this.#buffer.subarray(0, size);
      if (known.row === null || !known.bytes.equals(bytes)) {
        known.bytes = Buffer.from(bytes);
        known.row = this.#parse(bytes.toString("latin1"));
      }
      // One that is stopped is shown as soon as it runs on.
      const isAtWork = known.row !== null && !known.row.stopped && !known.row.zombie;
      known.looksLeft = isAtWork ? limits.briefLooksMax : 0;
      return known.row;
    } catch {
      // The process is gone: another one may have its pid.
      return this.#closed(pid, known);
    }
  }

  /** Closes the files of all other processes. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const [pid, known] of this.#open) if (!pids.has(pid)) this.#closed(pid, known);
  }

  /** Throws if the process is gone. One that has ended and was not collected yet has none: `0 0 0 ...`. */
  #hasMemory({ memoryFd }: OpenStat<Row>): boolean {
    const size = readSync(memoryFd, this.#buffer, 0, this.#buffer.length, 0);
    return size > 2 && !(this.#buffer[0] === zero && this.#buffer[1] === blank);
  }

  #opened(pid: number): OpenStat<Row> | null {
    if ((this.#open.size + 1) * filesPerProcess > limits.statsOpenMax) return null;
    let fd: number | null = null;
    try {
      fd = openSync(`/proc/${pid}/stat`, "r");
      const memoryFd = openSync(`/proc/${pid}/statm`, "r");
      const known: OpenStat<Row> = { fd, memoryFd, bytes: Buffer.alloc(0), row: null, looksLeft: 0 };
      this.#open.set(pid, known);
      return known;
    } catch {
      // The caller's own way tells why.
      if (fd !== null) closeSync(fd);
      return null;
    }
  }

  #closed(pid: number, { fd, memoryFd }: OpenStat<Row>): null {
    this.#open.delete(pid);
    closeSync(fd);
    closeSync(memoryFd);
    return null;
  }
}

const zero = 0x30;
const blank = 0x20;
