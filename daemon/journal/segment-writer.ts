/** Appends to the journal's current segment. */
import { join } from "node:path";
import { type Disk, type DiskFile, isNoSpace, synced } from "./disk.ts";
import { segmentName } from "./file-names.ts";

/** A write failed and its remains could not be cut off: the content of the file is unknown. */
export class TailUnknown extends Error {
  override readonly name = "TailUnknown";
}

/** The segment that the journal appends to. Invariant: its content ends with the last complete write. */
export class SegmentWriter {
  readonly name: string;
  readonly #path: string;
  readonly #file: DiskFile;
  #size = 0;
  #unsynced = false;

  private constructor(dir: string, name: string, file: DiskFile) {
    this.name = name;
    this.#path = join(dir, name);
    this.#file = file;
  }

  /** Creates a segment; once this resolves its name survives a power cut. EEXIST if it exists, else `SyncFailed`. */
  static async create(disk: Disk, dir: string, epoch: number, first: number): Promise<SegmentWriter> {
    const name = segmentName(epoch, first);
    const file = disk.create(join(dir, name));
    try {
      await synced(file.syncAll());
      await synced(disk.syncDir(dir));
    } catch (error) {
      file.close();
      throw error;
    }
    return new SegmentWriter(dir, name, file);
  }

  get size(): number {
    return this.#size;
  }

  /** Whether data was written or cut since the last sync began. */
  get unsynced(): boolean {
    return this.#unsynced;
  }

  /**
   * Appends all of `data`; if there is no space, appends nothing and returns false. Throws any other failure, with
   * nothing appended unless it is `TailUnknown`.
   */
  append(data: Buffer): boolean {
    let failure: unknown = null;
    this.#unsynced = true;
    try {
      const written = this.#file.append(data);
      if (written === data.length) {
        this.#size += written;
        return true;
      }
    } catch (error) {
      failure = error;
    }
    this.#cutBack();
    if (failure !== null && !isNoSpace(failure)) throw failure;
    return false;
  }

  /** Whether a start would find this segment at its path. False if the user has no right to look. */
  get isInPlace(): boolean {
    try {
      return this.#file.isAt(this.#path, this.#size);
    } catch {
      // The daemon has no right to read the folder: a start could not read it either.
      return false;
    }
  }

  /** Makes earlier appends durable; throws `SyncFailed`. */
  async sync(): Promise<void> {
    this.#unsynced = false;
    await synced(this.#file.syncData());
  }

  close(): void {
    this.#file.close();
  }

  #cutBack(): void {
    try {
      this.#file.truncate(this.#size);
    } catch (error) {
      throw new TailUnknown(`a write to ${this.name} failed and could not be undone`, { cause: error });
    }
  }
}
