import { basename, dirname } from "node:path";
import type { Disk, DiskFile } from "../../daemon/journal/disk.ts";
import type { Random } from "./random.ts";

const firstPartBytes = 100;

/**
 * A disk in memory that knows what was synced. What was not is a list of changes, per file and per directory; a
 * power cut keeps any prefix of each list, a write in part, its last bytes perhaps garbled. Syncs complete as a
 * microtask, or when told. All deterministic.
 */
export class SimulatedDisk implements Disk {
  /** Bytes all files together may have. A write that does not fit is short, or throws ENOSPC. */
  capacity = Number.POSITIVE_INFINITY;
  /** So many syncs go well before `failingSyncs` counts. */
  goodSyncs = 0;
  /** So many of the next syncs fail with EIO. */
  failingSyncs = 0;
  /** So many of the next cuts fail with EIO. */
  failingTruncates = 0;
  /** So many of the next writes fail with EIO, having written nothing. */
  failingWrites = 0;
  /** Syncs begun from now on wait for `completeSyncs`. */
  holdSyncs = false;
  /** Changes made so far: a write, a cut, a create, a rename, an unlink, a completed sync. */
  steps = 0;
  /** The change with this number happens in part (a write: its first half) or not at all; then the power is off. */
  stopAt = Number.POSITIVE_INFINITY;

  readonly #directories = new Set<string>();
  readonly #names = new Map<string, Inode>();
  readonly #durableNames = new Map<string, Inode>();
  readonly #unsynced = new Map<string, Unsynced<NameChange>>();
  #syncs: (() => void)[] = [];
  #life = 0;

  get isOff(): boolean {
    return this.steps >= this.stopAt;
  }

  /** Bytes of all files. */
  get used(): number {
    let bytes = 0;
    for (const inode of new Set(this.#names.values())) bytes += inode.content.size;
    return bytes;
  }

  mkdir(dir: string): void {
    for (let parent = dir; parent !== dirname(parent); parent = dirname(parent)) {
      this.#directories.add(parent);
    }
  }

  list(dir: string): readonly string[] {
    if (!this.#directories.has(dir)) throw fault("ENOENT", dir);
    return [...this.#names.keys()].filter(path => dirname(path) === dir).map(path => basename(path));
  }

  read(path: string): Buffer {
    return Buffer.from(this.#inode(path).content.bytes);
  }

  /** In pieces that begin short, so that lines are cut somewhere. */
  *parts(path: string): Generator<Buffer, void> {
    const bytes = this.read(path);
    for (let start = 0, length = firstPartBytes; start < bytes.length; length *= 2) {
      yield bytes.subarray(start, start + length);
      start += length;
    }
  }

  size(path: string): number | null {
    return this.#directories.has(path) ? 0 : (this.#names.get(path)?.content.size ?? null);
  }

  create(path: string): DiskFile {
    if (!this.#directories.has(dirname(path))) throw fault("ENOENT", path);
    if (this.#names.has(path)) throw fault("EEXIST", path);
    const inode = new Inode();
    this.#change(dirname(path), [[path, inode]]);
    return this.#handle(path, inode);
  }

  open(path: string): DiskFile {
    return this.#handle(path, this.#inode(path));
  }

  rename(from: string, to: string): void {
    const inode = this.#inode(from);
    this.#change(dirname(to), [
      [from, null],
      [to, inode],
    ]);
  }

  unlink(path: string): void {
    this.#inode(path);
    this.#change(dirname(path), [[path, null]]);
  }

  syncDir(dir: string): Promise<void> {
    if (!this.#directories.has(dir) && dir !== dirname(dir)) throw fault("ENOENT", dir);
    const changes = this.#changesOf(dir);
    const { made } = changes;
    return this.#sync(() => this.#applyNames(changes.take(made)));
  }

  /**
   * The disk as one process sees it: after a crash or a power cut whatever is left of that process does nothing.
   */
  mount(): Disk {
    const life = this.#life;
    const alive = <T extends unknown[], R>(action: (...args: T) => R) => {
      return (...args: T): R => {
        if (life !== this.#life) throw fault("EIO", "the process has ended");
        return action(...args);
      };
    };
    return {
      mkdir: alive(dir => this.mkdir(dir)),
      list: alive(dir => this.list(dir)),
      read: alive(path => this.read(path)),
      parts: alive(path => this.parts(path)),
      size: alive(path => this.size(path)),
      create: alive(path => this.create(path)),
      open: alive(path => this.open(path)),
      rename: alive((from, to) => this.rename(from, to)),
      unlink: alive(path => this.unlink(path)),
      syncDir: alive(dir => this.syncDir(dir)),
    };
  }

  /** Completes the syncs that were held, in the order they began. */
  completeSyncs(): void {
    for (const complete of this.#syncs.splice(0)) complete();
  }

  /** The machine stops: a prefix of what was not synced remains. Open files are gone; the power is on again. */
  powerCut(random: Random): void {
    for (const changes of this.#unsynced.values()) {
      this.#applyNames(changes.take(random.int(changes.taken, changes.made)));
    }
    this.#unsynced.clear();
    this.#names.clear();
    for (const [path, inode] of this.#durableNames) this.#names.set(path, inode);
    for (const inode of new Set(this.#names.values())) inode.powerCut(random);
    this.#newLife();
  }

  /** The process stops: everything written remains, synced or not. Open files are gone. */
  processCrash(): void {
    this.#newLife();
  }

  /** Overwrites one byte, as a failing disk might; survives everything. */
  garble(path: string, offset: number): void {
    this.#inode(path).garble(offset);
  }

  #newLife(): void {
    this.#life += 1;
    this.#syncs = [];
    this.stopAt = Number.POSITIVE_INFINITY;
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw fault("ENOENT", path);
    return inode;
  }

  /** Counts a change; `halfway` is what happens of the one at which the power goes. */
  #step(halfway: () => void = () => {}): void {
    if (this.isOff) throw fault("EIO", "the power is off");
    this.steps += 1;
    if (!this.isOff) return;
    halfway();
    throw fault("EIO", "the power went");
  }

  #change(dir: string, change: NameChange): void {
    this.#step();
    this.#changesOf(dir).add(change);
    for (const [path, inode] of change) {
      if (inode === null) this.#names.delete(path);
      else this.#names.set(path, inode);
    }
  }

  #changesOf(dir: string): Unsynced<NameChange> {
    const changes = this.#unsynced.get(dir) ?? new Unsynced<NameChange>();
    this.#unsynced.set(dir, changes);
    return changes;
  }

  #applyNames(changes: readonly NameChange[]): void {
    for (const [path, inode] of changes.flat()) {
      if (inode === null) this.#durableNames.delete(path);
      else this.#durableNames.set(path, inode);
    }
  }

  #sync(complete: () => void): Promise<void> {
    const life = this.#life;
    return new Promise((resolve, reject) => {
      const run = () => {
        // Whoever began it is gone, and hears nothing.
        if (life !== this.#life) return;
        try {
          this.#step();
          this.#failIfDue();
          complete();
          resolve();
        } catch (error) {
          reject(error);
        }
      };
      if (this.holdSyncs) this.#syncs.push(run);
      else queueMicrotask(run);
    });
  }

  #failIfDue(): void {
    if (this.goodSyncs > 0) {
      this.goodSyncs -= 1;
    } else if (this.failingSyncs > 0) {
      this.failingSyncs -= 1;
      throw fault("EIO", "the sync failed");
    }
  }

  #append(inode: Inode, data: Buffer): number {
    const room = Math.max(0, this.capacity - this.used);
    if (this.failingWrites > 0) {
      this.failingWrites -= 1;
      throw fault("EIO", "the write failed");
    }
    if (data.length > 0 && room === 0) throw fault("ENOSPC", "no space left");
    const fitting = data.subarray(0, room);
    this.#step(() => inode.append(fitting.subarray(0, fitting.length >> 1)));
    inode.append(fitting);
    return fitting.length;
  }

  #truncate(inode: Inode, size: number): void {
    if (this.failingTruncates > 0) {
      this.failingTruncates -= 1;
      throw fault("EIO", "the cut failed");
    }
    this.#step();
    inode.truncate(size);
  }

  #handle(path: string, inode: Inode): DiskFile {
    const life = this.#life;
    let closed = false;
    const alive = () => {
      if (closed || life !== this.#life) throw fault("EBADF", path);
    };
    const append = (data: string | Buffer) => {
      alive();
      return this.#append(inode, Buffer.from(data));
    };
    const sync = async () => {
      alive();
      const { made } = inode;
      await this.#sync(() => inode.settle(made));
    };
    return {
      get size() {
        return inode.content.size;
      },
      append,
      appendLarge: async data => append(data),
      truncate: size => {
        alive();
        this.#truncate(inode, size);
      },
      isAt: (path, bytes) => {
        alive();
        return this.#names.get(path) === inode && inode.content.size >= bytes;
      },
      syncData: sync,
      syncAll: sync,
      close: () => {
        alive();
        closed = true;
      },
    };
  }
}

/** One or more names that change at once: to what they stand for, or to nothing. */
type NameChange = readonly (readonly [path: string, inode: Inode | null])[];

type Change = { readonly append: Buffer } | { readonly truncate: number };

/** Changes in order, those that are durable taken off the front. */
class Unsynced<Change> {
  #changes: Change[] = [];
  /** How many were ever taken off. */
  taken = 0;

  /** How many were ever added. */
  get made(): number {
    return this.taken + this.#changes.length;
  }

  /** The next one to be taken. */
  get first(): Change | undefined {
    return this.#changes[0];
  }

  add(change: Change): void {
    this.#changes.push(change);
  }

  /** Takes off all up to the one that was the `upTo`th to be added. */
  take(upTo: number): readonly Change[] {
    const taken = this.#changes.splice(0, Math.max(0, upTo - this.taken));
    this.taken += taken.length;
    return taken;
  }
}

/** Bytes that grow at the end. */
class Content {
  #buffer = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  apply(change: Change): void {
    if ("truncate" in change) {
      this.#size = Math.min(this.#size, change.truncate);
      return;
    }
    const size = this.#size + change.append.length;
    if (size > this.#buffer.length) {
      const grown = Buffer.alloc(size * 2);
      this.bytes.copy(grown);
      this.#buffer = grown;
    }
    change.append.copy(this.#buffer, this.#size);
    this.#size = size;
  }
}

class Inode {
  /** As programs see it. */
  content = new Content();
  /** As it is after a power cut at the worst moment. */
  #durable = new Content();
  #changes = new Unsynced<Change>();

  /** Changes ever made. */
  get made(): number {
    return this.#changes.made;
  }

  append(data: Buffer): void {
    this.#make({ append: Buffer.from(data) });
  }

  truncate(size: number): void {
    this.#make({ truncate: size });
  }

  /** The first `made` changes ever made are durable. */
  settle(made: number): void {
    for (const change of this.#changes.take(made)) this.#durable.apply(change);
  }

  powerCut(random: Random): void {
    this.settle(random.int(this.#changes.taken, this.#changes.made));
    const torn = this.#changes.first;
    const synced = this.#durable.size;
    if (torn !== undefined && "append" in torn) {
      this.#durable.apply({ append: torn.append.subarray(0, random.int(0, torn.append.length)) });
      this.#garbleTail(synced, random);
    }
    this.content = new Content();
    this.content.apply({ append: Buffer.from(this.#durable.bytes) });
    this.#changes = new Unsynced();
  }

  garble(offset: number): void {
    for (const content of [this.content, this.#durable]) {
      const byte = content.bytes[offset];
      if (byte !== undefined) content.bytes[offset] = byte ^ 0xff;
    }
  }

  /** The end of what was being written may hold anything. */
  #garbleTail(from: number, random: Random): void {
    const { bytes } = this.#durable;
    if (bytes.length === from || random.chance(0.5)) return;
    const zeros = random.chance(0.5);
    for (let i = random.int(from, bytes.length - 1); i < bytes.length; i++) {
      bytes[i] = zeros ? 0 : random.int(0, 255);
    }
  }

  #make(change: Change): void {
    this.#changes.add(change);
    this.content.apply(change);
  }
}

function fault(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
