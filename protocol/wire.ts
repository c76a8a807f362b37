/** Framing of the wire: bytes to lines, and messages to lines. */

import { isAscii, isUtf8 } from "node:buffer";
import type { Code } from "./codes.ts";
import { limits } from "./limits.ts";

// The fast way of framing: the lines that lie whole in one chunk.

const openBrace = 0x7b;

/**
 * Adds to `lines` the lines in `bytes`, which end with a newline; blank ones are left out. One check of the encoding
 * and one string serve all of them. A check and a string for each line would cost more than parsing the line. Returns
 * false, and adds nothing, if some byte is not UTF-8: only the plain way tells which line it is in.
 *
 * The plain way is `LineDecoder`, byte by byte; `tests/protocol/wire.test.ts` holds the two equal.
 */
function addWholeLines(bytes: Buffer, lines: { push(line: { readonly text: string }): unknown }): boolean {
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return false;
  const all = bytes.toString(ascii ? "latin1" : "utf8");
  let start = 0;
  for (let end = all.indexOf("\n"); end !== -1; end = all.indexOf("\n", start)) {
    const text = all.slice(start, end);
    if (text.charCodeAt(0) === openBrace || text.trim() !== "") lines.push({ text });
    start = end + 1;
  }
  return true;
}

/**
 * Framing: one JSON object a line, UTF-8, both ways. The reader searches only new bytes, so a line in many pieces
 * costs its length, not its square. It discards an over-long line up to its newline, reports it once,
 * and continues.
 */
export type Line =
  | { readonly text: string }
  | { readonly fault: Extract<Code, "line_too_long" | "invalid_utf8"> };

const newline = 0x0a;
/** The longest piece that the reader joins with others, in bytes. */
const joinedBytes = 65_536;
const hookPrefix = Buffer.from('{"type":"hook"');

export class LineDecoder {
  #parts: Buffer[] = [];
  #size = 0;
  #discarding = false;
  readonly #lineBytes: number;
  readonly #hookLineBytes: number;

  /** `hookLineBytes` bounds lines that begin `{"type":"hook"`, `lineBytes` all others. */
  constructor(lineBytes: number = limits.lineBytes, hookLineBytes: number = limits.hookLineBytes) {
    this.#lineBytes = lineBytes;
    this.#hookLineBytes = hookLineBytes;
  }

  /** The bytes of the line whose newline has not arrived yet. */
  get unfinishedBytes(): number {
    return this.#size;
  }

  /** The number of buffers that hold the unfinished line: its memory cost beyond its bytes. */
  get pieces(): number {
    return this.#parts.length;
  }

  /** Adds a chunk and returns the lines it completed, in order, without blank ones. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    let isTried = false;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (!isTried && this.#size === 0 && !this.#discarding) {
        // Once a chunk: if one line is not UTF-8, each of the others would check all that follow it again.
        isTried = true;
        const whole = chunk.subarray(start, chunk.lastIndexOf(newline) + 1);
        if (whole.length <= this.#lineBytes && addWholeLines(whole, lines)) {
          start += whole.length;
          break;
        }
      }
      this.#take(chunk.subarray(start, end), lines);
      this.#finish(lines);
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start), lines);
    return lines;
  }

  /** Discards the unfinished line, as an over-long one. */
  discard(): void {
    this.#parts = [];
    this.#size = 0;
    this.#discarding = true;
  }

  #take(piece: Buffer, lines: Line[]): void {
    if (this.#discarding || piece.length === 0) return;
    this.#keep(piece);
    this.#size += piece.length;
    if (this.#size > this.#lineBytes && this.#size > this.#bound()) {
      this.discard();
      lines.push({ fault: "line_too_long" });
    }
  }

  /**
   * Keeps a piece and joins small ones, pairs of about the same size at a time. A line that arrives byte by byte thus
   * takes about its size, not a buffer per byte. Each byte is copied a few times at most.
   */
  #keep(piece: Buffer): void {
    let last = piece;
    for (let before = this.#parts.at(-1); before !== undefined; before = this.#parts.at(-1)) {
      if (before.length > last.length || before.length + last.length > joinedBytes) break;
      this.#parts.pop();
      last = Buffer.concat([before, last]);
    }
    this.#parts.push(last);
  }

  #bound(): number {
    if (this.#parts.length > 1 && (this.#parts[0]?.length ?? 0) < hookPrefix.length) {
      this.#parts = [Buffer.concat(this.#parts)];
    }
    const head = this.#parts[0]?.subarray(0, hookPrefix.length);
    return head?.equals(hookPrefix) ? this.#hookLineBytes : this.#lineBytes;
  }

  #finish(lines: Line[]): void {
    if (this.#discarding) {
      this.#discarding = false;
      return;
    }
    const [first] = this.#parts;
    if (first === undefined) return;
    const bytes = this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    if (!isUtf8(bytes)) {
      lines.push({ fault: "invalid_utf8" });
      return;
    }
    const text = bytes.toString("utf8");
    if (text.trim() !== "") lines.push({ text });
  }
}

/** Returns a message as a line. */
export function encodeLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}

/** Whether a parsed value is an object with fields, neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `value` is nested at most `max` deep, itself counted. */
export function nestingWithin(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (max === 0) return false;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof inner === "object" && inner !== null && !nestingWithin(inner, max - 1)) return false;
  }
  return true;
}
