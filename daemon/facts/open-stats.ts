/**
 * Files `/proc/<pid>/stat` that are kept open, because the same processes are checked every second: to read an open
 * one again costs a tenth of opening it. An open file belongs to its very process. It cannot be read any more when that
 * process is gone, even if its pid is used again.
 *
 * Beside each one `/proc/<pid>/statm` is kept open, which costs a third to read: a process that has memory lives. Only a
 * few looks in a row are content with that. A look that finds nothing new makes no object.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";

interface Shown {
  readonly parent: number;
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
  #pids: readonly number[] = [];
  /** The files of `#pids`, in their order; undefined: not open. */
  #selected: (OpenStat<Row> | undefined)[] = [];

  constructor(parse: (text: string) => Row | null) {
    this.#parse = parse;
  }

  /** Names the processes that `read` reads, each once, and closes the files of all others. Costs nothing for the same list. */
  select(pids: readonly number[]): void {
    if (pids === this.#pids) return;
    const wanted = new Set(pids);
    for (const [pid, known] of this.#open) if (!wanted.has(pid)) this.#close(pid, known);
    this.#pids = pids;
    this.#selected = pids.map(pid => this.#open.get(pid));
  }

  /**
   * Returns the row of the selected process at `index`, the same object as before if it shows the same. Null if it has
   * to be read in another way: it is gone, there is no room, or an error.
   */
  read(index: number): Row | null {
    const known = this.#selected[index] ?? this.#opened(index);
    if (known === null) return null;
    try {
      if (known.looksLeft > 0 && this.#hasMemory(known.memoryFd)) {
        known.looksLeft -= 1;
        return known.row;
      }
      const size = readSync(known.fd, this.#buffer, 0, limits.statBytes, 0);
      if (size === 0 || size === limits.statBytes) return this.#drop(index, known);
      if (known.row === null || !this.#isAsRead(known.bytes, size)) {
        known.bytes = Buffer.from(this.#buffer.subarray(0, size));
        const row = this.#parse(known.bytes.toString("latin1"));
        if (!isSame(known.row, row)) known.row = row;
      }
      // One that is stopped is shown as soon as it runs on.
      const isAtWork = known.row !== null && !known.row.stopped && !known.row.zombie;
      known.looksLeft = isAtWork ? limits.briefLooksMax : 0;
      return known.row;
    } catch {
      // The process is gone: another one may have its pid.
      return this.#drop(index, known);
    }
  }

  #isAsRead(bytes: Buffer, size: number): boolean {
    return bytes.length === size && this.#buffer.compare(bytes, 0, size, 0, size) === 0;
  }

  /** Throws if the process is gone. One that has ended and was not collected yet has none: `0 0 0 ...`. */
  #hasMemory(memoryFd: number): boolean {
    const size = readSync(memoryFd, this.#buffer, 0, limits.statBytes, 0);
    return size > 2 && !(this.#buffer[0] === zero && this.#buffer[1] === blank);
  }

  #opened(index: number): OpenStat<Row> | null {
    const pid = this.#pids[index];
    if (pid === undefined || (this.#open.size + 1) * filesPerProcess > limits.statsOpenMax) return null;
    let fd: number | null = null;
    try {
      fd = openSync(`/proc/${pid}/stat`, "r");
      const memoryFd = openSync(`/proc/${pid}/statm`, "r");
      const known: OpenStat<Row> = { fd, memoryFd, bytes: Buffer.alloc(0), row: null, looksLeft: 0 };
      this.#open.set(pid, known);
      this.#selected[index] = known;
      return known;
    } catch {
      // The caller's own way tells why.
      if (fd !== null) closeSync(fd);
      return null;
    }
  }

  #drop(index: number, known: OpenStat<Row>): null {
    this.#selected[index] = undefined;
    const pid = this.#pids[index];
    if (pid !== undefined) this.#close(pid, known);
    return null;
  }

  #close(pid: number, { fd, memoryFd }: OpenStat<Row>): void {
    this.#open.delete(pid);
    closeSync(fd);
    closeSync(memoryFd);
  }
}

/** Whether two rows of one process show the same: one that runs for a while has other counts, and the same row. */
function isSame(a: Shown | null, b: Shown | null): boolean {
  return a?.parent === b?.parent && a?.zombie === b?.zombie && a?.stopped === b?.stopped;
}

const zero = 0x30;
const blank = 0x20;
