/** Implements the journal with segments, snapshots and a manifest in one directory. */

import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { commandRules } from "../core/apply.ts";
import type { Entry, Proposal } from "../core/tables/entries.ts";
import { BatchEncoder, type Encoder } from "./batch.ts";
import {
  type Disk,
  type DiskFile,
  diskCode,
  isNoSpace,
  journalFiles,
  nodeDisk,
  reserveName,
  SyncFailed,
} from "./disk.ts";
import {
  Batches,
  brokenFailure,
  closedFailure,
  type Found,
  failAll,
  type Journal,
  type JournalHealth,
  lostText,
  type Opened,
  type Pieces,
  type ProposeFailure,
  type Snapshot,
  type Soon,
  StoreLost,
  tooLargeFailure,
  type Waiting,
} from "./journal.ts";
import { type Chain, readChain, SegmentWriter, TailUnknown } from "./segments.ts";
import { Manifest, prune, readSnapshot, writeSnapshot } from "./snapshots.ts";

// Handles a full disk: a reserve of space, and refusals until there is space again.

const fullFailure: ProposeFailure = {
  code: "store_full",
  message: "the disk is full: only what frees something is taken; make space, Kite goes on by itself",
  outcome: "not_stored",
};

/** A file that only takes up space. The journal removes it when the disk is full. */
class Reserve {
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

interface SpaceOptions {
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
class Space {
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

interface Claim {
  readonly chain: Chain;
  /** Bytes of the entries that were handed on. */
  readonly newBytes: number;
  readonly epoch: number;
  readonly segment: SegmentWriter;
  /** A manifest that already names the segment. */
  readonly manifest: Manifest;
}

const attemptsMax = 10;

/**
 * Recovers the log after `after`, hands its entries to `found`, and claims the next epoch by creating its first segment.
 * Once this resolves, the epoch and every one of these entries survive a power cut. No two starts get the same epoch,
 * even at the same time: a start that meets another one's claim withdraws and tries again. The epoch is later than
 * `epochAfter`, too.
 */
async function claimEpoch(
  disk: Disk,
  dir: string,
  after: number,
  reserve: Reserve,
  found: Found,
  epochAfter = 0,
): Promise<Claim> {
  let last = after;
  let newBytes = 0;
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const chain = readChain(disk, dir, last, found);
    ({ last } = chain);
    newBytes += chain.newBytes;
    await settleTail(disk, chain.tail);
    const epoch = Math.max(chain.files.epoch, epochAfter) + 1;
    try {
      const segment = await SegmentWriter.create(disk, dir, epoch, chain.last + 1);
      if (isAlone(disk, dir, epoch, segment.name)) {
        const manifest = new Manifest(disk, dir);
        await manifest.begin(epoch, chain.last + 1, chain.files.manifests);
        return { chain, newBytes, epoch, segment, manifest };
      }
      segment.close();
      disk.unlink(join(dir, segment.name));
    } catch (error) {
      // If the disk is full, the reserve makes room. If the epoch exists, another start claimed it a moment ago.
      if (isNoSpace(error) && attempt === 1) reserve.giveBack();
      else if (diskCode(error) !== "EEXIST") throw error;
    }
  }
  throw new Error(`another daemon keeps opening ${dir}; end it and start again`);
}

/** Cuts off a torn tail, and syncs entries that a crash left unsynced, before anything is stored after them. */
async function settleTail(disk: Disk, tail: Chain["tail"]): Promise<void> {
  if (tail === null) return;
  const file = disk.open(tail.path);
  try {
    if (tail.tornBytes > 0) file.truncate(tail.goodBytes);
    await file.syncAll();
  } finally {
    file.close();
  }
}

function isAlone(disk: Disk, dir: string, epoch: number, name: string): boolean {
  const { segments, snapshots } = journalFiles(disk, dir);
  return [...segments, ...snapshots].every(other => other.epoch !== epoch || other.name === name);
}

interface FileJournalOptions {
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
 * The log in files of one directory (disk.ts lists them, segments.ts says what they contain). Invariants:
 *
 * - Proposals of one turn of the event loop are one write. They are delivered in the same turn, after the write
 *   succeeded: no entry is applied that is not stored.
 * - One sync runs at a time; requests during it share the next one.
 * - A segment is synced before its successor is created: only the last one can be torn.
 * - After each write and each sync the journal checks that the segment is at its path. So a start finds every entry that was
 *   delivered or became durable. A file removed after that check, a few microseconds before the answers leave, existed when
 *   its entries were acknowledged.
 * - `open` → (full ⇄ not full) → `closed`. It is `broken` for good if a sync or the undoing of a write failed, or the
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

  propose(proposal: Proposal, failed: Waiting["failed"], cost = 1): void {
    if (this.#phase === "new") throw new Error("open the journal before proposing");
    this.#batches.add(proposal, failed, cost);
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

  /** Encodes as many proposals of `batch` as fit in one write. Refuses only the proposal that is too large for the log. */
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
      // Only a bug leads here. Asking again would keep all else from running, for ever.
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
