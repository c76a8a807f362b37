/**
 * Writes the copy of the store's state while the daemon works. So after a kill or a power cut people read tasks and messages
 * as of shortly before.
 *
 * Invariants: one copy is written at a time, a line a turn of the event loop, of the state as the copy began. The file is
 * the old copy or the new one, as a whole. When it is the new one, it is on the disk. After `close` nothing is written.
 */
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { copyOf, linesOf } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Clock } from "../engine/clock.ts";

/** What is written now: the file's first line, and the state; null: nothing. */
export type CopyNow = () => { readonly head: string; readonly state: State } | null;

export interface CopyWriterOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly now: CopyNow;
  readonly onTrouble: (error: unknown) => void;
}

export class CopyWriter {
  readonly #options: CopyWriterOptions;
  /** When the next copy may begin. */
  #dueMs = 0;
  #cancel: (() => void) | null = null;
  #hasChanged = false;
  #writing: Promise<void> | null = null;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: CopyWriterOptions) {
    this.#options = options;
  }

  /** Something changed: a copy is written as soon as one is due. */
  changed(): void {
    this.#hasChanged = true;
    if (this.#isClosed || this.#cancel !== null || this.#writing !== null) return;
    const { clock } = this.#options;
    this.#cancel = clock.at(Math.max(clock.now(), this.#dueMs), () => {
      this.#cancel = null;
      this.#begin();
    });
  }

  /** Gives up a copy that is being written. Resolves when no file of it is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#writing;
  }

  #begin(): void {
    const { clock, onTrouble } = this.#options;
    const begunMs = clock.now();
    this.#hasChanged = false;
    const found = this.#options.now();
    // A store that is not open yet costs no pause: whoever opens it says that it changed.
    if (found === null) return;
    const failed = (error: unknown) => {
      if (!this.#hasFailed) onTrouble(error);
      this.#hasFailed = true;
    };
    this.#writing = this.#write(found)
      .then(isWhole => {
        if (isWhole) this.#hasFailed = false;
      }, failed)
      .then(() => {
        this.#writing = null;
        // A large copy is written less often.
        this.#dueMs =
          clock.now() + Math.max(limits.storeCopyPauseMs, limits.storeCopyShare * (clock.now() - begunMs));
        if (this.#hasChanged) this.changed();
      });
  }

  /** Returns whether the copy is in its place. */
  async #write({ head, state }: NonNullable<ReturnType<CopyNow>>): Promise<boolean> {
    const { path, now } = this.#options;
    const unfinished = `${path}.next`;
    const images = state.preimages.begin();
    const lines = linesOf(copyOf(state, images));
    try {
      // What a daemon left that was killed meanwhile.
      await rm(unfinished, { force: true });
      const file = await open(unfinished, "wx", 0o600);
      try {
        await this.#fill(file, head, lines);
        await file.sync();
      } finally {
        await file.close();
      }
      // Also if this machine left meanwhile.
      if (this.#isClosed || now() === null) return false;
      await rename(unfinished, path);
      await syncFolder(dirname(path));
      return true;
    } finally {
      state.preimages.end(images);
      await rm(unfinished, { force: true });
    }
  }

  /** If the state is too large, only the first line is written. */
  async #fill(file: FileHandle, head: string, lines: Iterable<string>): Promise<void> {
    const first = `${head}\n`;
    await file.writeFile(first);
    let bytes = 0;
    for (const line of lines) {
      if (this.#isClosed) return;
      const piece = bytes === 0 ? line : `\n${line}`;
      bytes += Buffer.byteLength(piece);
      if (bytes > limits.storeCopyBytes) return file.truncate(Buffer.byteLength(first));
      await file.writeFile(piece);
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
