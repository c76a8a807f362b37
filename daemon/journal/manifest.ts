import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { type Disk, diskCode, isNoSpace, SyncFailed, synced } from "./disk.ts";
import { type ManifestName, manifestName } from "./file-names.ts";

/**
 * Records outside the segments how far the log went. Without it, a log whose last segment was removed, or whose end a
 * failing disk garbled, would look like a shorter intact log.
 *
 * The manifest is the name of an empty file; it holds the last segment and the last durable entry. A rename changes
 * both at once, needs no space and no checksum, and cannot be torn.
 *
 * Invariants: it names a segment only once that segment survives a power cut, and an entry only once it is durable. So
 * it may lag behind the log, but never claims more. It is made durable itself when a segment begins; in between it lags
 * by `limits.manifestEntries` at most. An orderly stop leaves it exact.
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
   * Names a new segment; `found` are the manifests that a start found and this one replaces. Once this resolves it
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

  /** Entries up to `durable` survive a power cut. Renames once every so many entries, and at the stop (`exactly`). */
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
      // The earlier name claims less, but nothing wrong.
      if (isNoSpace(error)) return;
      throw error;
    }
    this.#name = name;
    this.#durable = durable;
  }

  /** Returns false if the file no longer exists: another start took it at the same time. */
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
