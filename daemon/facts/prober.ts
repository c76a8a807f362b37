/** Single questions to the filesystem and the mount table, by `node:fs`. */

import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
} from "node:fs";
import { lstat, open, opendir, readFile, readlink, realpath, statfs } from "node:fs/promises";
import { limits } from "../../protocol/limits.ts";
import { WorkClock } from "./work-clock.ts";

// Limits the concurrent filesystem questions of each device.

/** A probe's result: its value and the work in milliseconds, or late. */
export type Probed<T> =
  | { readonly late: false; readonly value: T; readonly ms: number }
  | { readonly late: true };

/** A question to the filesystem or the system. */
interface Probe<T> {
  /** Asks through the thread pool. */
  readonly ask: () => Promise<T>;
  /**
   * Asks in this thread and settles before anything else happens. Null if it might never return; rejects with `NotHere`
   * if it finds out that it might not.
   */
  readonly askNow: (() => Promise<T>) | null;
  /** Work that it may take, in milliseconds. */
  readonly budgetMs: number;
  /** The probe is late from this time on, however little of it was work, by the clock's `now`. */
  readonly until: number;
}

/** The question cannot be asked in this thread: its caller waits for the thread pool's answer. */
export class NotHere extends Error {
  override readonly name = "NotHere";
}

/** A probe that waits for a slot or runs. */
interface PendingProbe {
  /** Work clock when the probe began to run; null while it waits for a slot. */
  began: { readonly workedMs: number } | null;
  /** Time of the request. */
  readonly since: number;
  /** Whether its caller has been answered. */
  isAnswered: boolean;
  isStuck: boolean;
  readonly budgetMs: number;
  readonly until: number;
  readonly start: () => void;
  readonly giveUp: () => void;
  readonly askNow: () => void;
}

interface Lane {
  readonly running: Set<PendingProbe>;
  /** Number of running probes over their budget. Their threads return when the kernel answers. */
  stuck: number;
  waiting: PendingProbe[];
}

/**
 * Runs probes, at most `max` at once for each device (a lane): a mount that hangs occupies that many threads and no
 * more. Waiting for a slot costs a probe nothing of its budget. If overdue probes take every slot, waiting and new
 * probes are `late` at once.
 *
 * Budgets are of work: a probe is not late because this process waits for a processor. While it waits, probes that can
 * run in this thread do so, even those that wait for a slot.
 */
export class PerDeviceLimit {
  readonly #lanes = new Map<string, Lane>();
  readonly #max: number;
  readonly #clock: WorkClock;
  #unwatch: (() => void) | null = null;

  constructor(max: number = limits.factsPerDeviceMax, clock: WorkClock = new WorkClock()) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Runs `probe` within its budget and throws what it throws. A late probe's own result is ignored. */
  run<T>(name: string, { ask, askNow, budgetMs, until }: Probe<T>): Promise<Probed<T>> {
    const { drive } = this.#clock;
    const since = drive.now();
    if (budgetMs <= 0 || since >= until) return Promise.resolve({ late: true });
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { running: new Set(), stuck: 0, waiting: [] };
      this.#lanes.set(name, lane);
    }
    const here = lane;
    if (here.stuck >= this.#max) return Promise.resolve({ late: true });
    return new Promise<Probed<T>>((resolve, reject) => {
      const settle = (give: () => void): void => {
        if (probe.isAnswered) return;
        probe.isAnswered = true;
        give();
      };
      const spent = (): number => (probe.began === null ? 0 : this.#clock.workedMs - probe.began.workedMs);
      const probe: PendingProbe = {
        began: null,
        since,
        isAnswered: false,
        isStuck: false,
        budgetMs,
        until,
        start: () => {
          const end = this.#begin(name, here, probe);
          this.#ask(ask, askNow).then(
            value => {
              end();
              settle(() => resolve({ late: false, value, ms: spent() }));
            },
            (error: unknown) => {
              end();
              settle(() => reject(error));
            },
          );
        },
        giveUp: () => settle(() => resolve({ late: true })),
        askNow: () => {
          askNow?.().then(
            value => settle(() => resolve({ late: false, value, ms: spent() })),
            (error: unknown) => {
              if (!(error instanceof NotHere)) settle(() => reject(error));
            },
          );
        },
      };
      this.#unwatch ??= this.#clock.watch(starved => this.#beat(starved));
      if (here.running.size < this.#max) probe.start();
      else here.waiting.push(probe);
    });
  }

  /** Whether overdue probes have taken every slot of a device. */
  isStuck(name: string): boolean {
    return (this.#lanes.get(name)?.stuck ?? 0) >= this.#max;
  }

  /** If the pool gets no processor, each question would wait for one again. */
  #ask<T>(ask: Probe<T>["ask"], askNow: Probe<T>["askNow"]): Promise<T> {
    if (askNow === null || !this.#clock.isStarved) return ask();
    return askNow().catch((error: unknown) => {
      if (error instanceof NotHere) return ask();
      throw error;
    });
  }

  /** Takes a slot; the returned function frees it and starts the next probe. */
  #begin(name: string, lane: Lane, probe: PendingProbe): () => void {
    probe.began = { workedMs: this.#clock.workedMs };
    lane.running.add(probe);
    return () => {
      lane.running.delete(probe);
      if (probe.isStuck) lane.stuck -= 1;
      let next = lane.waiting.shift();
      while (next?.isAnswered) next = lane.waiting.shift();
      next?.start();
      if (lane.running.size === 0) this.#lanes.delete(name);
    };
  }

  #beat(starved: boolean): void {
    let isWatching = false;
    const now = this.#clock.drive.now();
    for (const lane of this.#lanes.values()) {
      for (const probe of lane.running) if (!probe.isAnswered && this.#isOver(probe, now)) stick(lane, probe);
      const isStuck = lane.stuck >= this.#max;
      for (const probe of lane.waiting) if (isStuck || now >= probe.until) probe.giveUp();
      lane.waiting = lane.waiting.filter(probe => !probe.isAnswered);
      const left = [...lane.running, ...lane.waiting].filter(probe => !probe.isAnswered);
      // With a free processor an answer takes no longer than this.
      for (const probe of left) if (starved && probe.since <= now - 2 * limits.workBeatMs) probe.askNow();
      isWatching ||= left.length > 0;
    }
    if (isWatching) return;
    this.#unwatch?.();
    this.#unwatch = null;
  }

  #isOver({ began, budgetMs, until }: PendingProbe, now: number): boolean {
    return began !== null && (this.#clock.workedMs - began.workedMs >= budgetMs || now >= until);
  }
}

function stick(lane: Lane, probe: PendingProbe): void {
  probe.isStuck = true;
  lane.stuck += 1;
  probe.giveUp();
}

/** A mount point, by its real path. */
export interface Mount {
  readonly point: string;
  /** Whether its filesystem needs no other machine. */
  readonly local: boolean;
}

/** The end of a file. A character at its beginning may be cut. */
export interface FileEnd {
  readonly text: string;
  readonly sizeBytes: number;
  /** Wall time of its last change, in milliseconds. */
  readonly changedAt: number;
}

/**
 * Questions to the filesystem, each asynchronous: on a mount that hangs any of them may never be answered. Errors are
 * Node's. Only regular files are opened.
 */
export interface Prober {
  lstat(path: string): Promise<BigIntStats>;
  readlink(path: string): Promise<string>;
  /** The path as the volume spells it, if the system tells (macOS does). */
  realpath(path: string): Promise<string>;
  /** The kernel's number of the filesystem type. */
  filesystem(path: string): Promise<number>;
  /** Up to `max` names in a directory, unordered. */
  names(path: string, max: number): Promise<readonly string[]>;
  /** A regular file's text of at most `bytesMax`; null for anything else or longer. */
  readSmall(path: string, bytesMax: number): Promise<string | null>;
  /** The end of a regular file, at most `bytesMax`, with its size and time; null for anything else. */
  tail(path: string, bytesMax: number): Promise<FileEnd | null>;
  /** The mount points, or null if the system does not tell. Must not touch the mounts themselves. */
  mounts(): Promise<readonly Mount[] | null>;
}

/** Questions that never wait for another machine if they concern a local filesystem. */
export interface ProberHere extends Prober {
  /** `mounts` at once: the same table as the last time if nothing was mounted or unmounted. */
  mountsNow(): readonly Mount[] | null;
  /** `lstat` at once; null if the file does not exist. */
  lstatNow(path: string): BigIntStats | null;
}

export const nodeProber: Prober = {
  lstat: path => lstat(path, { bigint: true }),
  readlink: path => readlink(path),
  realpath: path => realpath(path),
  filesystem: async path => (await statfs(path)).type,
  names: async (path, max) => {
    const names: string[] = [];
    try {
      for await (const entry of await opendir(path, { bufferSize: max })) {
        names.push(entry.name);
        if (names.length >= max) break;
      }
    } catch (error) {
      // Without a descriptor the names are unknown; the caller goes on with earlier results.
      if (!isOutOfDescriptors(error)) throw error;
    }
    return names;
  },
  readSmall,
  tail: readTail,
  mounts: async () =>
    process.platform === "linux" ? mountsIn(await readFile("/proc/self/mountinfo", "utf8")) : null,
};

/** The same questions in this thread, for local filesystems. Slow questions stay with the pool. */
export const nodeProberHere: ProberHere = {
  lstatNow: path => lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null,
  lstat: async path => lstatSync(path, { bigint: true }),
  readlink: async path => readlinkSync(path),
  realpath: async path => realpathSync.native(path),
  filesystem: async path => statfsSync(path).type,
  names: async () => {
    throw new NotHere("a directory may be of any length");
  },
  readSmall: async (path, bytesMax) => readSmallHere(path, bytesMax),
  tail: async () => {
    throw new NotHere("it may be long");
  },
  mounts: async () => mountsNow(),
  mountsNow,
};

/** Whether the process, or the machine, has no descriptor left; other work frees some in a moment. */
export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
}

/** Reads a small regular file without waiting for the other end of a FIFO or device. */
export async function readSmall(
  path: string,
  bytesMax: number = limits.smallFileBytes,
): Promise<string | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > bytesMax) return null;
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    while (size < buffer.length) {
      const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
      if (bytesRead === 0) break;
      size += bytesRead;
    }
    return size > bytesMax ? null : buffer.toString("utf8", 0, size);
  } finally {
    await handle.close();
  }
}

/** Reads the end of a regular file without waiting for the other end of a FIFO or device. */
async function readTail(path: string, bytesMax: number): Promise<FileEnd | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return null;
    const { size, mtimeMs } = stat;
    const buffer = Buffer.alloc(Math.min(size, bytesMax));
    let read = 0;
    while (read < buffer.length) {
      const { bytesRead } = await handle.read(
        buffer,
        read,
        buffer.length - read,
        size - buffer.length + read,
      );
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return { text: buffer.toString("utf8", 0, read), sizeBytes: size, changedAt: mtimeMs };
  } finally {
    await handle.close();
  }
}

/** Reads a small regular file in this thread. A link is left to the pool: it may lead to a mount that hangs. */
function readSmallHere(path: string, bytesMax: number): string | null {
  if (lstatSync(path).isSymbolicLink()) throw new NotHere("it is a link");
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
  const fd = openSync(path, flags);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > bytesMax) return null;
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read) {
      read = readSync(fd, buffer, size, buffer.length - size, size);
    }
    return size > bytesMax ? null : buffer.toString("utf8", 0, size);
  } finally {
    closeSync(fd);
  }
}

/** The table that was read last in this thread, and its text. */
let lastTable: { readonly text: string; readonly mounts: readonly Mount[] } = { text: "", mounts: [] };

/** Reading the table costs half of reading and parsing it. */
function mountsNow(): readonly Mount[] | null {
  if (process.platform !== "linux") return null;
  const text = readFileSync("/proc/self/mountinfo", "utf8");
  if (text !== lastTable.text) lastTable = { text, mounts: mountsIn(text) };
  return lastTable.mounts;
}

/** Names of the local filesystems, which PathFacts knows by number. */
const localNames: ReadonlySet<string> = new Set(
  (
    "ext2 ext3 ext4 xfs btrfs f2fs bcachefs zfs tmpfs ramfs overlay jfs reiserfs nilfs2 vfat exfat ntfs3 erofs " +
    "squashfs"
  ).split(" "),
);

/**
 * Parses `/proc/self/mountinfo`: the mount point is the fifth field, with octal escapes for blanks; the name of the
 * filesystem follows a dash. The last of several mounts at one point counts.
 */
export function mountsIn(mountinfo: string): Mount[] {
  return mountinfo.split("\n").flatMap(line => {
    const point = line.split(" ", 5)[4];
    if (point === undefined) return [];
    const [, name = ""] = / - (\S+) /.exec(line) ?? [];
    const spelled = point.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return [{ point: spelled, local: localNames.has(name) }];
  });
}

// Keeps descriptors for the pipes of git. They are open all the time, so that no connection takes them. They are closed for
// the moment in which a child starts; nothing else of the event loop runs in between.

export class SpawnRoom {
  readonly #size: number;
  #kept: number[] = [];

  constructor(size: number) {
    this.#size = size;
    this.refill();
  }

  /** Does the work, with the descriptors free for it. */
  lend<T>(work: () => T): T {
    this.close();
    try {
      return work();
    } finally {
      this.refill();
    }
  }

  /** Keeps as many again as there are: a child has ended, or a connection has closed. */
  refill(): void {
    try {
      while (this.#kept.length < this.#size) this.#kept.push(openSync("/dev/null", "r"));
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
    }
  }

  close(): void {
    for (const descriptor of this.#kept) closeSync(descriptor);
    this.#kept = [];
  }
}
