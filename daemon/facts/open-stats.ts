/**
 * Files `/proc/<pid>/stat` that are kept open, because the same processes are checked every second: to read an open
 * one again costs a tenth of opening it. An open file belongs to its very process. It cannot be read any more when that
 * process is gone, even if its pid is used again.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";

interface OpenStat<Row> {
  readonly fd: number;
  /** What was read last, and what it said: a process at rest says the same again. */
  bytes: Buffer;
  row: Row | null;
}

/** At most `limits.statsOpenMax` files; a process beyond that is for the caller to read. */
export class OpenStats<Row> {
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
      const size = readSync(known.fd, this.#buffer, 0, this.#buffer.length, 0);
      if (size === 0 || size === this.#buffer.length) return this.#closed(pid, known);
      const bytes = this.#buffer.subarray(0, size);
      if (known.row !== null && known.bytes.equals(bytes)) return known.row;
      known.bytes = Buffer.from(bytes);
      known.row = this.#parse(bytes.toString("latin1"));
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

  #opened(pid: number): OpenStat<Row> | null {
    if (this.#open.size >= limits.statsOpenMax) return null;
    try {
      const known = { fd: openSync(`/proc/${pid}/stat`, "r"), bytes: Buffer.alloc(0), row: null };
      this.#open.set(pid, known);
      return known;
    } catch {
      // The caller's own way tells why.
      return null;
    }
  }

  #closed(pid: number, { fd }: OpenStat<Row>): null {
    this.#open.delete(pid);
    closeSync(fd);
    return null;
  }
}
