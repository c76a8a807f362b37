import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { type Disk, diskCode, isNoSpace, SyncFailed, synced } from "./disk.ts";
import { type ManifestName, manifestName } from "./file-names.ts";

/**
 * How far the log went, known outside its segments: without that, a last segment that somebody removed, or an end
 * that a failing disk garbled, would look like a log that never went so far.
 *
 * It is the name of an empty file, which holds which segment is the last one and up to which entry the log is
 * durable. A rename changes both at once, needs no space and no checksum, and cannot be torn.
 *
 * Invariants: it names a segment only after that one survives a power cut, and an entry only after it is durable. So
 * it may lag behind what is there, but never says more. It is made durable itself when a segment begins; between that
 * it lags by `limits.manifestEntries` at most, and a stop in order leaves it exact.
 */
export class Manifest {
  readonly #disk: Disk;
  readonly #dir: string;
  #name: string | null = null;
  #epoch = 0;
  #first = 0;
  #durable = 0;

  constructor(disk: Disk, dir: string) {
    this.#disk = disk;
    this.#dir = dir;
  }

  /**
   * Names a segment that has begun; `found` are those that a start met, which it replaces. When this resolves it
   * survives a power cut, unless the disk is full: then the earlier one stays. Throws `SyncFailed` otherwise.
   */
  async begin(epoch: number, first: number, found: readonly ManifestName[] = []): Promise<void> {
    this.#epoch = epoch;
    this.#first = first;
    this.#name ??= found.at(-1)?.name ?? null;
    try {
      this.#put(first - 1);
      for (const { name } of found.slice(0, -1)) this.#unlessGone(() => this.#disk.unlink(this.#path(name)));
    } catch (error) {
      throw new SyncFailed("the journal's manifest could not be written; see the disk's health", {
        cause: error,
      });
    }
    await synced(this.#disk.syncDir(this.#dir));
  }

  /** Entries up to `durable` survive a power cut. Costs a rename every so many entries, and in the end (`exactly`). */
  reached(durable: number, exactly = false): void {
    if (durable - this.#durable >= (exactly ? 1 : limits.manifestEntries)) this.#put(durable);
  }

  #put(durable: number): void {
    const name = manifestName(this.#epoch, this.#first, durable);
    try {
      const from = this.#name;
      const renamed =
        from !== null && this.#unlessGone(() => this.#disk.rename(this.#path(from), this.#path(name)));
      if (!renamed) this.#create(name);
    } catch (error) {
      // The earlier name says less, and nothing that is wrong.
      if (isNoSpace(error)) return;
      throw error;
    }
    this.#name = name;
    this.#durable = durable;
  }

  /** False where the file is not there any more: another start that looked at the same time took it. */
  #unlessGone(action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (diskCode(error) !== "ENOENT") throw error;
      return false;
    }
  }

  #create(name: string): void {
    try {
      this.#disk.create(this.#path(name)).close();
    } catch (error) {
      if (diskCode(error) !== "EEXIST") throw error;
    }
  }

  #path(name: string): string {
    return join(this.#dir, name);
  }
}
