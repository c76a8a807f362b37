/** Implements the journal with segments, snapshots and a manifest in one directory. */
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { Entry } from "../core/tables/entries.ts";
import { type Disk, nodeDisk, SyncFailed } from "./disk.ts";
import { fullFailure, Reserve, Space } from "./disk-full.ts";
import { claimEpoch } from "./epoch.ts";
import { brokenFailure, lostText, tooLargeFailure } from "./failures.ts";
import { journalFiles } from "./file-names.ts";
import { BatchEncoder, type Encoder } from "./format/batch-encoder.ts";
import { Batches, closedFailure, failAll, type Soon, type Waiting } from "./format/batches.ts";
import {
  type Found,
  type Journal,
  type JournalHealth,
  type Opened,
  type Pieces,
  type ProposeFailure,
  type Snapshot,
  StoreLost,
} from "./journal.ts";
import type { Manifest } from "./manifest.ts";
import { SegmentWriter, TailUnknown } from "./segment-writer.ts";
import { readChain } from "./segments.ts";
import { prune, readSnapshot, writeSnapshot } from "./snapshot-file.ts";

export interface FileJournalOptions {
  /** The journal's directory, made if missing. The caller ensures that one process at a time uses it. */
  readonly dir: string;
  readonly disk?: Disk;
  /** Runs a batch's write later; the default is `setImmediate`. */
  readonly soon?: Soon;
  /** Runs a task after `ms` without keeping the process alive; returns a function that cancels it. */
  readonly later?: (ms: number, task: () => void) => () => void;
  readonly bounds?: Partial<FileJournalBounds>;
  /** What turns a write's entries into bytes; the tests have the encoder of an earlier version. */
  readonly encoder?: Encoder;
  /** An epoch that was claimed already, of which the directory may not know: it may be an older copy. */
  readonly epochAfter?: number;
}

/** Bounds of the journal; `limits` explains each. */
export interface FileJournalBounds {
  readonly segmentBytes: number;
  readonly recordBytes: number;
  readonly snapshotsKept: number;
  readonly reserveBytes: number;
  readonly fullRetryMs: number;
}

/**
 * The log in files of one directory (file-names.ts lists them, segment.ts says what they contain). Invariants:
 *
 * - Proposals of one turn of the event loop are one write. They are delivered in the same turn, after the write
 *   succeeded: no entry is applied that is not stored.
 * - One sync runs at a time; requests during it share the next one.
 * - A segment is synced before its successor is created: only the last one can be torn.
 * - After each write and each sync the journal checks that the segment is at its path: no entry is delivered or becomes
 *   durable that a start would not find. A file removed after that check, a few microseconds before the answers leave,
 *   existed when its entries were acknowledged.
 * - `open` → (full ⇄ not full) → `closed`; or `broken` for good, if a sync or the undoing of a write failed, or the
 *   segment is not at its path. The content of the disk is unknown then, and only a new start can find out.
 */
export class FileJournal implements Journal {
  readonly #dir: string;
  readonly #disk: Disk;
  readonly #bounds: FileJournalBounds;
  readonly #batches: Batches;
  readonly #encoder: Encoder;
  readonly #reserve: Reserve;
  readonly #space: Space;
  readonly #onDurable: ((seq: number) => void)[] = [];
  readonly #onFatal: ((error: Error) => void)[] = [];
  /** Names of snapshots that could not be read; the next stored snapshot replaces them. */
  readonly #damaged = new Set<string>();
  #phase: "new" | "open" | "broken" | "closed" = "new";
  #fatal: Error | null = null;
  #epoch = 0;
  #lastSeq = 0;
  #durableSeq = 0;
  #bytes = 0;
  #rotateAt: number;
  /** After an undone write: the number of its proposals to refuse; null if no write was undone. */
  #noRoomFor: number | null = null;
  #segment: SegmentWriter | null = null;
  #manifest: Manifest | null = null;
  #deliver: (batch: readonly Entry[]) => void = () => {};
  #syncing: Promise<void> | null = null;
  #syncAgain = false;
  #rotating: Promise<void> | null = null;
  #saving: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: FileJournalOptions) {
    this.#dir = options.dir;
    this.#disk = options.disk ?? nodeDisk;
    this.#bounds = { ...limits, ...options.bounds };
    this.#rotateAt = this.#bounds.segmentBytes;
    this.#encoder = options.encoder ?? new BatchEncoder();
    this.#epoch = options.epochAfter ?? 0;
    this.#reserve = new Reserve(this.#disk, this.#dir, this.#bounds.reserveBytes);
    this.#space = new Space({
      reserve: this.#reserve,
      retryMs: this.#bounds.fullRetryMs,
      later: options.later ?? laterUnref,
      onError: error => this.#break(error),
    });
    this.#batches = new Batches(options.soon ?? (task => void setImmediate(task)), batch =>
      this.#commit(batch),
    );
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get health(): JournalHealth {
    return { bytes: this.#bytes, full: this.#space.full };
  }

  onDurable(callback: (durableSeq: number) => void): void {
    this.#onDurable.push(callback);
  }

  onFatal(callback: (error: Error) => void): void {
    this.#onFatal.push(callback);
    if (this.#fatal !== null) callback(this.#fatal);
  }

  async loadSnapshot(): Promise<Snapshot | null> {
    this.#disk.mkdir(this.#dir);
    for (const snapshot of journalFiles(this.#disk, this.#dir).snapshots) {
      const bytes = readSnapshot(this.#disk, this.#dir, snapshot);
      if (bytes !== null) return { seq: snapshot.seq, bytes };
      this.#damaged.add(snapshot.name);
    }
    return null;
  }

  async open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened> {
    if (this.#phase !== "new") throw new Error("a journal is opened once");
    this.#disk.mkdir(this.#dir);
    await this.#disk.syncDir(dirname(this.#dir));
    const claim = await claimEpoch(this.#disk, this.#dir, after, this.#reserve, found, this.#epoch);
    const { chain, newBytes, epoch, segment, manifest } = claim;
    for (const name of chain.files.unfinished) this.#disk.unlink(join(this.#dir, name));
    this.#segment = segment;
    this.#manifest = manifest;
    this.#epoch = epoch;
    [this.#lastSeq, this.#durableSeq] = [chain.last, chain.last];
    this.#bytes = newBytes;
    this.#deliver = deliver;
    this.#phase = "open";
    this.#space.begin();
    return { epoch };
  }

  verify(): void {
    if (this.#phase === "open") this.#isInPlace();
  }

  propose(proposals: Parameters<Journal["propose"]>[0], failed: Waiting["failed"], cost = 1): void {
    if (this.#phase === "new") throw new Error("open the journal before proposing");
    this.#batches.add(proposals, failed, cost);
  }

  barrier(): Promise<void> {
    return this.#batches.barrier();
  }

  sync(): void {
    const segment = this.#segment;
    if (this.#phase !== "open" || segment === null || !segment.unsynced) return;
    if (this.#syncing !== null) this.#syncAgain = true;
    else this.#syncing = this.#runSync();
  }

  /** Stores one snapshot at a time, and only after its entries, so that the log never ends before its snapshot. */
  saveSnapshot(seq: number, pieces: Pieces): Promise<void> {
    const saved = this.#saving.then(() => this.#save(seq, pieces));
    // The caller handles a failure; the next snapshot proceeds.
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async read(after: number, found: Found): Promise<void> {
    if (after < this.#lastSeq) readChain(this.#disk, this.#dir, after, found);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Stores and delivers `batch`; returns the proposals that wait until an undone write is durably undone. */
  #commit(batch: readonly Waiting[]): readonly Waiting[] {
    let rest = this.#begin(batch);
    while (rest.length > 0) {
      const segment = this.#segment;
      if (this.#phase !== "open" || segment === null) {
        failAll(rest, this.#phase === "broken" ? brokenFailure(this.#fatal, "not_stored") : closedFailure);
        return [];
      }
      rest = this.#space.admit(rest);
      const { entries, bytes, taken } = this.#encode(rest);
      const outcome = entries.length === 0 ? "stored" : this.#append(segment, bytes);
      if (outcome === "full") {
        this.#noRoomFor = this.#space.full ? taken : 0;
        this.#space.ranOut();
        void this.#settleCut();
        return rest;
      }
      if (outcome === "stored") this.#stored(entries, bytes.length);
      else failAll(rest.slice(0, taken), brokenFailure(this.#fatal, outcome));
      rest = rest.slice(taken);
    }
    this.#rotateIfDue();
    return [];
  }

  /** Refuses the proposals of an undone write: trying the same write again would fail the same way. */
  #begin(batch: readonly Waiting[]): readonly Waiting[] {
    const refused = this.#noRoomFor;
    this.#noRoomFor = null;
    if (refused === null) this.#space.tryFor(batch);
    else if (this.#phase === "open") {
      failAll(batch.slice(0, refused), fullFailure);
      return batch.slice(refused);
    }
    return batch;
  }

  /** Waits with the refusals until the cut is durable: until then a power cut could restore the entries. */
  async #settleCut(): Promise<void> {
    this.#batches.hold();
    await this.#settled();
    this.#batches.release();
  }

  #append(segment: SegmentWriter, bytes: Buffer): "stored" | "full" | ProposeFailure["outcome"] {
    try {
      if (!segment.append(bytes)) return "full";
      // The segment is not at its path, but a start may still find it if its folder is moved back.
      return this.#isInPlace() ? "stored" : "unknown";
    } catch (error) {
      this.#break(error);
      return error instanceof TailUnknown ? "unknown" : "not_stored";
    }
  }

  /** Encodes as many proposals of `batch` as fit in one write. One that is too large for the log is refused alone. */
  #encode(batch: readonly Waiting[]): { entries: Entry[]; bytes: Buffer; taken: number } {
    const entries: Entry[] = [];
    let taken = 0;
    this.#encoder.begin();
    for (const { proposal, failed } of batch) {
      const { origin, at, command } = proposal;
      const entry: Entry = { seq: this.#lastSeq + entries.length + 1, at, origin, command };
      if (!this.#encoder.add(entry, this.#bounds.recordBytes)) {
        if (entries.length > 0) break;
        failed(proposal, tooLargeFailure(this.#bounds.recordBytes));
        taken = 1;
        break;
      }
      entries.push(entry);
      taken += 1;
    }
    return { entries, bytes: this.#encoder.end(), taken };
  }

  #stored(entries: readonly Entry[], bytes: number): void {
    if (entries.length === 0) return;
    this.#lastSeq += entries.length;
    this.#bytes += bytes;
    this.#deliver(entries);
  }

  async #runSync(): Promise<void> {
    try {
      do {
        this.#syncAgain = false;
        const upTo = this.#lastSeq;
        await this.#segment?.sync();
        if (!this.#isInPlace()) return;
        this.#manifest?.reached(upTo);
        this.#rise(upTo);
      } while (this.#syncAgain && this.#phase === "open" && this.#segment?.unsynced);
    } catch (error) {
      this.#break(error);
    } finally {
      this.#syncing = null;
    }
  }

  /** Whether the segment is at the path where a start looks for it; if not, breaks the journal. */
  #isInPlace(): boolean {
    if (this.#segment?.isInPlace) return true;
    this.#break(new StoreLost(lostText(this.#dir)));
    return false;
  }

  #rise(durableSeq: number): void {
    if (durableSeq === this.#durableSeq) return;
    this.#durableSeq = durableSeq;
    for (const callback of this.#onDurable) callback(durableSeq);
  }

  /** Resolves when entries up to `seq` are durable, or the journal is no longer open. */
  async #durableTo(seq: number): Promise<void> {
    while (this.#phase === "open" && this.#durableSeq < seq) {
      this.sync();
      // Only a bug leads here. To ask again would keep all else from running, for ever.
      if (this.#syncing === null)
        this.#break(new Error(`entry ${seq} is not durable, and no sync is left to run`));
      await this.#syncing;
    }
  }

  /** Resolves when all entries and cuts are durable, or the journal is no longer open. The caller stops writes. */
  async #settled(): Promise<void> {
    while (this.#phase === "open" && (this.#segment?.unsynced || this.#syncing !== null)) {
      this.sync();
      await this.#syncing;
    }
  }

  #rotateIfDue(): void {
    if (this.#rotating !== null || this.#phase !== "open") return;
    if ((this.#segment?.size ?? 0) < this.#rotateAt) return;
    this.#rotating = this.#rotate().finally(() => {
      this.#rotating = null;
    });
  }

  /** Starts a new segment. Writes go on during the first sync and wait only for the second, short one. */
  async #rotate(): Promise<void> {
    await this.#durableTo(this.#lastSeq);
    this.#batches.hold();
    try {
      await this.#settled();
      this.verify();
      if (this.#phase !== "open") return;
      const next = await SegmentWriter.create(this.#disk, this.#dir, this.#epoch, this.#lastSeq + 1);
      await this.#manifest?.begin(this.#epoch, this.#lastSeq + 1);
      this.#segment?.close();
      this.#segment = next;
      this.#rotateAt = this.#bounds.segmentBytes;
    } catch (error) {
      if (error instanceof SyncFailed) this.#break(error);
      // The new segment could not be created; a longer one does no harm.
      else this.#rotateAt += this.#bounds.segmentBytes;
    } finally {
      this.#batches.release();
    }
  }

  async #save(seq: number, pieces: Pieces): Promise<void> {
    if (seq > this.#lastSeq) throw new Error(`entry ${seq} was not delivered yet`);
    const covered = this.#bytes;
    await this.#durableTo(seq);
    // The path may lead to another journal's folder by now, and a snapshot would be written there.
    this.verify();
    if (this.#phase !== "open") throw new Error(`the journal is ${this.#phase}: no snapshot was stored`);
    try {
      const isWanted = () => this.#phase === "open";
      await writeSnapshot(this.#disk, this.#dir, this.#epoch, seq, pieces, isWanted);
    } catch (error) {
      if (error instanceof SyncFailed) this.#break(error);
      throw error;
    }
    this.#bytes -= covered;
    prune(this.#disk, this.#dir, this.#bounds.snapshotsKept, this.#damaged);
  }

  #break(error: unknown): void {
    if (this.#fatal !== null) return;
    this.#fatal = error instanceof Error ? error : new Error(String(error));
    if (this.#phase === "open") this.#phase = "broken";
    this.#space.stop();
    for (const callback of this.#onFatal) callback(this.#fatal);
  }

  async #close(): Promise<void> {
    const wasOpen = this.#phase === "open";
    this.#phase = "closed";
    this.#space.stop();
    this.#batches.flush();
    await this.#rotating;
    await this.#syncing;
    await this.#saving;
    if (wasOpen && this.#fatal === null && this.#segment?.unsynced) await this.#runSync();
    if (wasOpen && this.#fatal === null && this.#isInPlace()) this.#manifest?.reached(this.#durableSeq, true);
    this.#segment?.close();
  }
}

function laterUnref(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}
