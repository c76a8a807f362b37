import { isUtf8 } from "node:buffer";
import type { Code } from "./codes.ts";
import { limits } from "./limits.ts";

/**
 * Framing: one JSON object a line, UTF-8, both ways. Only bytes that are new are searched, so a line that
 * arrives in many pieces costs its length, not its square. An over-long line is thrown away up to its newline
 * and reported once; the stream goes on.
 */
export type Line =
  | { readonly text: string }
  | { readonly fault: Extract<Code, "line_too_long" | "invalid_utf8"> };

const newline = 0x0a;
/** Pieces are joined up to this. */
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

  /** Bytes of a line whose newline has not come yet. */
  get unfinishedBytes(): number {
    return this.#size;
  }

  /** Buffers that hold the unfinished line: what it costs beyond its bytes. */
  get pieces(): number {
    return this.#parts.length;
  }

  /** Takes what arrived and returns the lines it completed, in order; blank lines are left out. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#take(chunk.subarray(start, end), lines);
      this.#finish(lines);
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start), lines);
    return lines;
  }

  /** Throws away the unfinished line, as an over-long one. */
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
   * Small pieces are joined, pairs of about the same size at a time, so that a line that comes byte by byte takes
   * about its size and not a buffer a byte. Each byte is copied a few times at the most.
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

/** One message as a line. */
export function encodeLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
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
