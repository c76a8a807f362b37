/** Lines that wait to be written, as bytes: as objects they would outlive several collections of garbage. */
import { limits } from "../../protocol/limits.ts";

/** Some lines in a row. */
export interface Piece {
  readonly bytes: Buffer;
  readonly lines: number;
}

export class LineBuffer {
  #lines = 0;
  readonly #full: Piece[] = [];
  #current: Buffer | null = null;
  #currentBytes = 0;
  #currentLines = 0;
  /** A written buffer, to be filled again. */
  #spare: Buffer | null = null;

  /** The lines that wait. */
  get lines(): number {
    return this.#lines;
  }

  add(line: string): void {
    this.#lines += 1;
    // Three bytes are the most that one UTF-16 unit takes.
    const bytesMax = line.length * 3;
    if (bytesMax > limits.trailPieceBytes) {
      this.#seal();
      this.#full.push({ bytes: Buffer.from(line), lines: 1 });
      return;
    }
    if (this.#currentBytes + bytesMax > limits.trailPieceBytes) this.#seal();
    this.#current ??= this.#spare ?? Buffer.allocUnsafeSlow(limits.trailPieceBytes);
    if (this.#current === this.#spare) this.#spare = null;
    this.#currentBytes += this.#current.write(line, this.#currentBytes, "utf8");
    this.#currentLines += 1;
  }

  /** Removes and returns the oldest lines, or null. The caller gives the piece back once it has written them. */
  take(): Piece | null {
    if (this.#full.length === 0) this.#seal();
    const piece = this.#full.shift();
    if (piece === undefined) return null;
    this.#lines -= piece.lines;
    return piece;
  }

  /** Takes back the memory of a piece that is written. */
  giveBack({ bytes }: Piece): void {
    const { buffer } = bytes;
    if (buffer.byteLength === limits.trailPieceBytes) this.#spare = Buffer.from(buffer);
  }

  #seal(): void {
    if (this.#current === null) return;
    this.#full.push({ bytes: this.#current.subarray(0, this.#currentBytes), lines: this.#currentLines });
    this.#current = null;
    this.#currentBytes = 0;
    this.#currentLines = 0;
  }
}
