import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { commandTraits } from "../core/command-traits.ts";
import { failAll, type Waiting } from "./batches.ts";
import { type Disk, type DiskFile, diskCode, isNoSpace } from "./disk.ts";
import { reserveName } from "./file-names.ts";
import type { ProposeFailure } from "./journal.ts";

export const fullFailure: ProposeFailure = {
  code: "store_full",
  message: "the disk is full: only what frees something is taken; make space, Kite goes on by itself",
  outcome: "not_stored",
};

/** A file that only takes up space, to be given back to the disk when the log finds it full. */
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
   * Whether the space is set aside, now or already. It has to fit twice: else it would fit again into the very
   * space it was given back from.
   */
  take(): boolean {
    if (this.#disk.size(this.#path) === this.#bytes) return true;
    this.giveBack();
    let file: DiskFile | null = null;
    try {
      file = this.#disk.create(this.#path);
      // Random, since some file systems store zeros in no space at all.
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
      // It was given back before.
      if (diskCode(error) !== "ENOENT") throw error;
    }
  }
}

export interface SpaceOptions {
  readonly reserve: Reserve;
  readonly retryMs: number;
  /** Runs a task after `ms`; returns how to cancel it. */
  readonly later: (ms: number, task: () => void) => () => void;
  /** The disk fails otherwise than by being full. */
  readonly onError: (error: unknown) => void;
}

/**
 * Whether there is space. Once it ran out it is tried for again in intervals; there is some when the reserve can
 * be set aside.
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

  /** Sets the reserve aside, at the start. */
  begin(): void {
    this.#full = true;
    this.#retry();
  }

  /** A write found no space. */
  ranOut(): void {
    this.#full = true;
    this.#guarded(() => this.#options.reserve.giveBack());
    this.#retryLater();
  }

  /** Tries for space where somebody in `batch` wants more than to free some. */
  tryFor(batch: readonly Waiting[]): void {
    if (this.#full && !batch.every(frees)) this.#tryAgain();
  }

  /** What of `batch` may be stored; the others are told. */
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
  return commandTraits[proposal.command.type].frees;
}
