/** Handles a full disk: a reserve of space, and refusals until there is space again. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { commandRules } from "../core/apply.ts";
import { type Disk, type DiskFile, diskCode, isNoSpace } from "./disk.ts";
import { reserveName } from "./file-names.ts";
import { failAll, type Waiting } from "./format/batches.ts";
import type { ProposeFailure } from "./journal.ts";

export const fullFailure: ProposeFailure = {
  code: "store_full",
  message: "the disk is full: only what frees something is taken; make space, Kite goes on by itself",
  outcome: "not_stored",
};

/** A file that only takes up space. The journal removes it when the disk is full. */
export class Reserve {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #bytes: number;

  constructor(disk: Disk, dir: string, bytes: number) {
    this.#disk = disk;
    this.#path = join(dir, reserveName);
    this.#bytes = bytes;
  }

  /**
   * Whether the reserve is set aside. It has to fit twice: else it would fit again into the very space that it gave
   * back.
   */
  take(): boolean {
    if (this.#disk.size(this.#path) === this.#bytes) return true;
    this.giveBack();
    let file: DiskFile | null = null;
    try {
      file = this.#disk.create(this.#path);
      // Random bytes: some file systems store zeros without using space.
      const twice = randomBytes(2 * this.#bytes);
      if (file.append(twice) === twice.length) {
        file.truncate(this.#bytes);
        return true;
      }
    } catch (error) {
      if (!isNoSpace(error)) throw error;
    } finally {
      file?.close();
    }
    this.giveBack();
    return false;
  }

  giveBack(): void {
    try {
      this.#disk.unlink(this.#path);
    } catch (error) {
      // The reserve was given back before.
      if (diskCode(error) !== "ENOENT") throw error;
    }
  }
}

export interface SpaceOptions {
  readonly reserve: Reserve;
  readonly retryMs: number;
  /** Runs a task after `ms`; returns a function that cancels it. */
  readonly later: (ms: number, task: () => void) => () => void;
  /** Called when the disk fails for another reason than being full. */
  readonly onError: (error: unknown) => void;
}

/**
 * Whether the disk has space. After it ran out, the journal tries at intervals to set the reserve aside; when that
 * succeeds there is space.
 */
export class Space {
  readonly #options: SpaceOptions;
  #full = false;
  #cancel: () => void = () => {};

  constructor(options: SpaceOptions) {
    this.#options = options;
  }

  get full(): boolean {
    return this.#full;
  }

  /** Sets the reserve aside at the start. */
  begin(): void {
    this.#full = true;
    this.#retry();
  }

  /** Notes that a write found no space. */
  ranOut(): void {
    this.#full = true;
    this.#guarded(() => this.#options.reserve.giveBack());
    this.#retryLater();
  }

  /** Tries to get space if a command in `batch` does more than free some. */
  tryFor(batch: readonly Waiting[]): void {
    if (this.#full && !batch.every(frees)) this.#tryAgain();
  }

  /** Returns the proposals of `batch` that may be stored; refuses the others. */
  admit(batch: readonly Waiting[]): readonly Waiting[] {
    if (!this.#full) return batch;
    const refused = batch.filter(waiting => !frees(waiting));
    failAll(refused, fullFailure);
    return batch.filter(frees);
  }

  stop(): void {
    this.#cancel();
  }

  #retry(): void {
    this.#tryAgain();
    if (this.#full) this.#retryLater();
  }

  #retryLater(): void {
    this.#cancel();
    this.#cancel = this.#options.later(this.#options.retryMs, () => this.#retry());
  }

  #tryAgain(): void {
    this.#guarded(() => {
      if (!this.#options.reserve.take()) return;
      this.#full = false;
      this.#cancel();
    });
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

function frees({ proposal }: Waiting): boolean {
  const { command } = proposal;
  const { frees } = commandRules[command.type];
  return typeof frees === "function" ? frees(command as never) : frees;
}
