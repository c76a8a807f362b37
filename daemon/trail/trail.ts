/** Writes the trail. */

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { RefusalRow } from "../../protocol/schemas/daemon.ts";
import { encode, fileName, newline, type TrailLine, trailFiles } from "./line.ts";

// Lines that wait to be written, as bytes: as objects they would outlive several collections of garbage.

/** Some lines in a row. */
interface Piece {
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

export type { TrailLine } from "./line.ts";

interface TrailOptions {
  /** Called once, with the first error; the trail continues and counts lost lines. */
  readonly onError?: (error: unknown) => void;
  readonly fileBytes?: number;
  readonly filesMax?: number;
  readonly queueMax?: number;
}

/**
 * Writes decisions to `trail-<n>.ndjson` without delaying replies: `write` only queues. One batch is written at a time.
 * A line that cannot be queued or written is dropped and counted, and stops nothing.
 */
export class Trail {
  readonly #dir: string;
  readonly #options: Required<Omit<TrailOptions, "onError">> & Pick<TrailOptions, "onError">;
  readonly #queue = new LineBuffer();
  #file: { readonly handle: FileHandle; readonly n: number; bytes: number } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #closed = false;
  #complained = false;
  #written = 0;
  #dropped = 0;

  constructor(dir: string, options: TrailOptions = {}) {
    this.#dir = dir;
    this.#options = {
      fileBytes: limits.trailBytes,
      filesMax: limits.trailFilesMax,
      queueMax: limits.trailQueueMax,
      ...options,
    };
  }

  /** Lines lost because the queue was full or the write failed. */
  get dropped(): number {
    return this.#dropped;
  }

  get written(): number {
    return this.#written;
  }

  /** Queues a line, as bytes; costs no system call. */
  write(line: TrailLine): void {
    if (this.#closed || this.#queue.lines >= this.#options.queueMax) {
      this.#dropped++;
      return;
    }
    this.#queue.add(encode(line));
    if (this.#writing !== null) return;
    if (this.#queue.lines >= limits.trailBatchMax) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), limits.trailFlushMs).unref();
  }

  /** Resolves when every earlier line is stored or counted as dropped. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = null;
      // Lines queued between the last batch and now.
      return this.#queue.lines > 0 ? this.flush() : undefined;
    });
    return this.#writing;
  }

  /** Writes the queued lines and closes the file; drops later lines. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    const file = this.#file;
    this.#file = null;
    await file?.handle.close();
  }

  async #drain(): Promise<void> {
    for (let piece = this.#queue.take(); piece !== null; piece = this.#queue.take()) {
      try {
        await this.#append(piece.bytes);
        this.#written += piece.lines;
      } catch (error) {
        // The trail explains and decides nothing: a full disk must not stop a lock.
        this.#dropped += piece.lines;
        if (!this.#complained) this.#options.onError?.(error);
        this.#complained = true;
      }
      this.#queue.giveBack(piece);
    }
  }

  async #append(bytes: Buffer): Promise<void> {
    let file = this.#file ?? (await this.#openNewest());
    if (file.bytes > 0 && file.bytes + bytes.length > this.#options.fileBytes) {
      this.#file = null;
      await file.handle.close();
      file = await this.#open(file.n + 1);
      await this.#removeOld(file.n);
    }
    this.#file = file;
    await file.handle.appendFile(bytes);
    file.bytes += bytes.length;
  }

  async #openNewest() {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const [newest] = await trailFiles(this.#dir);
    return this.#open(newest ?? 1);
  }

  async #open(n: number) {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const handle = await open(join(this.#dir, fileName(n)), flags, 0o600);
    try {
      const { size } = await handle.stat();
      const file = { handle, n, bytes: size };
      const last = Buffer.alloc(1);
      if (size > 0) await handle.read(last, 0, 1, size - 1);
      // Ends a line that a crash cut off, so that it does not spoil the next one.
      if (size > 0 && last[0] !== newline) {
        await handle.appendFile("\n");
        file.bytes++;
      }
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #removeOld(newest: number): Promise<void> {
    for (const n of await trailFiles(this.#dir)) {
      if (n <= newest - this.#options.filesMax) await rm(join(this.#dir, fileName(n)), { force: true });
    }
  }
}

/** Writes every decision to the trail, and keeps the latest refusals for `kite status`. */
export class Recorder {
  readonly #trail: Pick<Trail, "write" | "dropped">;
  readonly #refusals: RefusalRow[];

  constructor(trail: Pick<Trail, "write" | "dropped">, refusals: RefusalRow[] = []) {
    this.#trail = trail;
    this.#refusals = refusals;
  }

  get refusals(): readonly RefusalRow[] {
    return this.#refusals;
  }

  get dropped(): number {
    return this.#trail.dropped;
  }

  note(line: TrailLine): void {
    this.#trail.write(line);
  }

  /** Records a refused lock or a denied edit; a `row` joins the latest refusals. */
  refused(row: RefusalRow | null, line: TrailLine): void {
    if (row !== null) this.#refusals.push(row);
    if (this.#refusals.length > limits.refusalsMax) this.#refusals.shift();
    this.#trail.write(line);
  }

  /** Returns a recorder for one event of which only a guess tells who acts: each line has it. */
  guessing(perhaps: string): Recorder {
    const { dropped } = this;
    const write = (line: TrailLine) => this.#trail.write({ ...line, perhaps });
    return new Recorder({ write, dropped }, this.#refusals);
  }

  /** Returns a recorder for one event that Kite only observes. */
  observing(): ObservedRecorder {
    return new ObservedRecorder(this.#trail);
  }
}

/** Records of an event that Kite only observes what it would have done: nothing was refused. */
export class ObservedRecorder extends Recorder {
  #hasHeld = false;

  /** Whether a decision of this event would have held its agent up. */
  get hasHeld(): boolean {
    return this.#hasHeld;
  }

  override note(line: TrailLine): void {
    const would = line.would ?? (line.decision === "deny" ? "deny" : undefined);
    this.#hasHeld ||= would === "deny" || would === "wait";
    super.note(would === undefined ? line : { ...line, decision: "note", would });
  }

  override refused(_row: RefusalRow, line: TrailLine): void {
    this.note(line);
  }
}
