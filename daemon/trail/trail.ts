/** Writes the trail. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { encodeFast } from "./encode.ts";
import { fileName, newline, type TrailLine, trailFiles } from "./line.ts";
import { LineBuffer } from "./line-buffer.ts";

export type { TrailLine } from "./line.ts";

export interface TrailOptions {
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
    this.#queue.add(encodeFast(line));
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
