/** Splits a file that is read piece by piece into lines. */
import { limits } from "../../../protocol/limits.ts";

/**
 * A window on a file, of one piece as a rule: a line that goes on in the next piece is put together with it. `bytes`
 * from `start` on are what follows the lines passed so far.
 */
export class Lines {
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  readonly #parts: Iterator<Buffer>;

  constructor(parts: Iterable<Buffer>) {
    this.#parts = parts[Symbol.iterator]();
  }

  /** Whether the file ends at `start`. */
  get isOver(): boolean {
    while (this.start >= this.bytes.length) if (!this.#readMore()) return true;
    return false;
  }

  /** The index in `bytes` of the newline that ends the line at `start`; -1: there is none within one write's length. */
  end(): number {
    let from = this.start;
    for (;;) {
      const newline = this.bytes.indexOf(0x0a, from);
      if (newline !== -1) return newline;
      from = this.bytes.length - this.start;
      if (from > limits.recordBytes || !this.#readMore()) return -1;
    }
  }

  /** Goes on behind the newline at `end`. */
  pass(end: number): void {
    this.start = end + 1;
  }

  /** Reads on until the window holds the rest of the file, or more of it than one write is long. */
  fill(): void {
    while (this.bytes.length - this.start <= limits.recordBytes && this.#readMore());
  }

  /** Whether a newline follows in the rest of the file, however far; nothing can be read behind it afterwards. */
  hasNewline(): boolean {
    for (let part = this.bytes.subarray(this.start); ; ) {
      if (part.includes(0x0a)) return true;
      const { done, value } = this.#parts.next();
      if (done === true) return false;
      part = value;
    }
  }

  close(): void {
    this.#parts.return?.();
  }

  /** Puts the next piece behind what is left; false at the end of the file. */
  #readMore(): boolean {
    const { done, value } = this.#parts.next();
    if (done === true) return false;
    const left = this.bytes.subarray(this.start);
    this.bytes = left.length === 0 ? value : Buffer.concat([left, value]);
    this.start = 0;
    return true;
  }
}
