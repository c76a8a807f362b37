/** Access to the filesystem within a budget, safe from mounts that hang. */

import type { BigIntStats } from "node:fs";
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import {
  isOutOfDescriptors,
  type Mount,
  NotHere,
  nodeProber,
  nodeProberHere,
  PerDeviceLimit,
  type Probed,
  type Prober,
  type ProberHere,
} from "./prober.ts";
import { WorkClock } from "./work-clock.ts";

// Looks at the parts of paths in this thread, and remembers for one turn of the event loop which are directories.

/**
 * Looks at each part of a path when those before it are known to be directories and no links. So it touches only the
 * filesystems on the way as it is spelled, which the caller knows to be local. Within one turn of the event loop a
 * directory is looked at once: a change is seen in the next turn.
 */
class RealDirectories {
  readonly #lstat: (path: string) => BigIntStats | null;
  readonly #known = new Map<string, BigIntStats>();

  /** `lstat` returns null if the file does not exist, and throws Node's other errors. */
  constructor(lstat: (path: string) => BigIntStats | null) {
    this.#lstat = lstat;
  }

  /**
   * Returns the stat of what is at an absolute path; null: nothing is there. Undefined: a part of the path is a link, or may
   * not be looked at. Then the path may lead to another filesystem, or the pool reports why.
   */
  find(path: string): BigIntStats | null | undefined {
    for (let end = path.indexOf("/", 1); ; end = path.indexOf("/", end + 1)) {
      const stat = this.at(end === -1 ? path : path.slice(0, end));
      if (stat === null || stat === undefined || end === -1) return stat;
      if (!stat.isDirectory()) return null;
    }
  }

  /** The same for a path whose parent is known to be a directory and real. */
  at(path: string): BigIntStats | null | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    try {
      const stat = this.#lstat(path);
      if (stat?.isSymbolicLink()) return undefined;
      if (stat?.isDirectory()) this.#remember(path, stat);
      return stat;
    } catch {
      // The caller asks in another way, and hears why.
      return undefined;
    }
  }

  /** Whether the path was found to be a directory in this turn. */
  has(path: string): boolean {
    return this.#known.has(path);
  }

  #remember(path: string, stat: BigIntStats): void {
    if (this.#known.size === 0) setImmediate(() => this.#known.clear());
    if (this.#known.size < limits.directoriesMax) this.#known.set(path, stat);
  }
}

/** A fact that could not be established; `unreachable` is a sentence for people. */
export interface Unreachable {
  readonly unreachable: string;
}

/** Thrown inside the facts only; their public methods return it as `Unreachable`. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** What one fact may still spend: work on filesystems that may hang, work on local ones, and total time. */
export interface Budget {
  leftMs: number;
  localMs: number;
  readonly until: number;
}

interface OutsideOptions {
  /** Reads local filesystems in this thread; null: only the thread pool does. */
  readonly here?: ProberHere | null;
  readonly clock?: WorkClock;
  /** Work that one fact may take on a filesystem that may hang. A person's command may wait longer than a lock. */
  readonly factMs?: number;
}

/** Options of one question. */
export interface Look {
  /** A link may lead the path to an unknown filesystem: unless it has none in this turn, only the thread pool is used. */
  readonly maybeElsewhere?: boolean;
}

interface Way {
  readonly lane: string;
  readonly local: boolean;
}

/** The file is missing, or this user may not see it and so cannot write it either. */
const absent: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM"]);

/** Parents of mount points on systems without a mount table. */
const mountParents: ReadonlySet<string> = new Set(["/Volumes", "/Network", "/net", "/mnt", "/media"]);

/**
 * The filesystem with a budget: each question about a path counts against the limit of its device and the budget of its
 * fact. The device has to be known without touching the path. On Linux it is the longest mount point in the kernel's
 * table, which is readable without touching any mount. Elsewhere it is the parent directory's device; children of
 * `/Volumes` and the like are devices of their own.
 *
 * A filesystem that may hang gets little work before it counts as hung. A local one gets more, and is read in this thread,
 * with `limits.factsPerTurnMax` questions in one turn of the event loop. The answer is nearly always in memory, and a trip
 * through the thread pool costs twenty times as much. The turn's other questions take the pool, so that long work lets other
 * requests in. If the pool gets no processor, this thread answers them after all. A path counts as local if every mount
 * point on the way to it is. A local disk mounted below a hung share hangs with it.
 */
export class BudgetedFs {
  readonly clock: WorkClock;
  readonly #prober: Prober;
  readonly #here: ProberHere | null;
  readonly #directories: RealDirectories | null;
  readonly #lanes: PerDeviceLimit;
  readonly #now: () => number;
  readonly #factMs: number;
  readonly #localDevices = new Set<bigint>();
  #table: readonly Mount[] | null = null;
  /** The table by mount points. */
  #mounts: ReadonlyMap<string, boolean> | null = null;
  #mountsUntil = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  /** Questions that may still be asked in this thread, in this turn of the event loop. */
  #leftThisTurn: number = limits.factsPerTurnMax;

  constructor(
    prober: Prober = nodeProber,
    now: () => number = () => performance.now(),
    options: OutsideOptions = {},
  ) {
    this.#prober = prober;
    this.#here =
      options.here === undefined && prober === nodeProber ? nodeProberHere : (options.here ?? null);
    const { lstatNow } = this.#here ?? {};
    this.#directories = lstatNow === undefined ? null : new RealDirectories(lstatNow);
    this.clock = options.clock ?? new WorkClock();
    this.#lanes = new PerDeviceLimit(limits.factsPerDeviceMax, this.clock);
    this.#now = now;
    this.#factMs = options.factMs ?? limits.factMs;
  }

  /** A monotonic clock in milliseconds. */
  now(): number {
    return this.#now();
  }

  /**
   * Establishes a fact with a budget of its own. If it takes too long, or the system refuses it for another reason than
   * a missing file, returns `Unreachable` with a sentence.
   */
  async fact<T>(addToSet: (budget: Budget) => Promise<T>): Promise<T | Unreachable> {
    try {
      const until = this.clock.drive.now() + limits.factTimeMs;
      return await addToSet({ leftMs: this.#factMs, localMs: limits.factLocalMs, until });
    } catch (error) {
      // This is an answer: the caller has to act on a fact that cannot be known.
      if (error instanceof NoAnswer) return { unreachable: error.message };
      throw error;
    }
  }

  /** Notes that the device is local; used only without a mount table. */
  knowLocal(device: bigint): void {
    if (this.#localDevices.size < limits.directoriesMax) this.#localDevices.add(device);
  }

  /**
   * Asks one question about `path`, which must be real up to its parent (else it may count for the wrong device).
   * `device` is the parent's, if known. Returns null if the file does not exist or this user may not see it.
   */
  async look<T>(
    path: string,
    device: bigint | null,
    budget: Budget,
    probe: (prober: Prober, path: string) => Promise<T>,
    { maybeElsewhere = false }: Look = {},
  ): Promise<T | null> {
    // A project name may be any word, and the walk from it up to its volume would never end.
    if (!path.startsWith("/"))
      throw new NoAnswer(`${path} is not an absolute path; give one that begins with /`);
    if (path.includes("\0"))
      throw new NoAnswer(`${JSON.stringify(path)} contains a NUL character; no file can`);
    await this.#refreshMounts();
    const way = this.#wayTo(path, device);
    let here = this.#here;
    if (maybeElsewhere) {
      const found = way.local ? this.#directories?.find(path) : undefined;
      if (found === null) return null;
      if (found === undefined) here = null;
    }
    try {
      for (;;) {
        try {
          const probed = await this.#ask(way, budget, prober => probe(prober, path), here);
          if (!probed.late) return probed.value;
          throw new NoAnswer(this.#late(path, way, budget));
        } catch (error) {
          if (!isOutOfDescriptors(error) || budget.leftMs <= 0) throw error;
          // Other work frees descriptors meanwhile.
          await this.clock.beat();
          budget.leftMs -= limits.workBeatMs;
        }
      }
    } catch (error) {
      const code = systemCode(error);
      // A missing file is an answer: callers also ask about files that do not exist yet.
      if (code !== null && absent.has(code)) return null;
      if (code !== null)
        throw new NoAnswer(`${path} cannot be read (${code}); check the path and its permissions`);
      throw error;
    }
  }

  /**
   * Returns the stats of the directories on the way to an absolute path without `.` and `..`, its own last. Each stat is as
   * in this turn of the event loop. Null: only `look` can tell. A directory is a link or none, it may hang, or this turn has
   * no questions left.
   */
  directoriesNow(path: string): readonly BigIntStats[] | null {
    if (this.#directories === null || this.#refreshMounts() !== null) return null;
    const stats: BigIntStats[] = [];
    for (let end = path.indexOf("/", 1); ; end = path.indexOf("/", end + 1)) {
      const part = end === -1 ? path : path.slice(0, end);
      if (!this.#directories.has(part)) {
        const { lane, local } = this.#wayTo(part, null);
        if (!local || !this.#mayAskHere(lane)) return null;
      }
      const stat = this.#directories.at(part);
      if (!stat?.isDirectory()) return null;
      stats.push(stat);
      if (end === -1) return stats;
    }
  }

  /**
   * Returns the stats of some files of one directory, null for those that do not exist. If the directory is no link and on a
   * local filesystem, this thread reads them in one turn of the event loop. The caller bounds `names`.
   */
  async lstats(
    directory: string,
    names: readonly string[],
    budget: Budget,
  ): Promise<readonly (BigIntStats | null)[]> {
    const way = { maybeElsewhere: true };
    const stat = await this.look(directory, null, budget, (prober, path) => prober.lstat(path), way);
    const real = await this.look(directory, null, budget, (prober, path) => prober.realpath(path), way);
    const here = real === directory && this.#wayTo(directory, stat?.dev ?? null).local ? this.#here : null;
    const stats: (BigIntStats | null)[] = [];
    for (const name of names) {
      const path = join(directory, name);
      const isMount = this.#mounts?.has(path) ?? false;
      if (here !== null && !isMount) stats.push(await here.lstat(path).catch(absentStat));
      else stats.push(await this.look(path, null, budget, (prober, p) => prober.lstat(p), way));
    }
    return stats;
  }

  /** Ends a fact with the sentence for its caller. */
  noAnswer(sentence: string): never {
    throw new NoAnswer(sentence);
  }

  async #ask<T>(
    { lane, local }: Way,
    budget: Budget,
    probe: (prober: Prober) => Promise<T>,
    here: Prober | null,
  ): Promise<Probed<T>> {
    if (local && here !== null && budget.localMs > 0 && this.#mayAskHere(lane)) {
      try {
        return { late: false, value: await probe(here), ms: 0 };
      } catch (error) {
        if (!(error instanceof NotHere)) throw error;
      }
    }
    const probed = await this.#lanes.run(lane, {
      ask: () => probe(this.#prober),
      askNow: local && here !== null ? () => probe(here) : null,
      budgetMs: local ? budget.localMs : budget.leftMs,
      until: budget.until,
    });
    if (!probed.late && local) budget.localMs -= probed.ms;
    if (!probed.late && !local) budget.leftMs -= probed.ms;
    return probed;
  }

  /** Whether a question may be asked in this thread; it counts for this turn. */
  #mayAskHere(lane: string): boolean {
    if (this.#leftThisTurn === 0 || this.#lanes.isStuck(lane)) return false;
    if (this.#leftThisTurn === limits.factsPerTurnMax) {
      setImmediate(() => {
        this.#leftThisTurn = limits.factsPerTurnMax;
      });
    }
    this.#leftThisTurn -= 1;
    return true;
  }

  #late(path: string, { local }: Way, { until }: Budget): string {
    // The total time passed, and little of it was work.
    if (this.clock.drive.now() >= until)
      return `${path} could not be checked within ${limits.factTimeMs / 1000} s, the machine is busy; try again`;
    const ms = local ? limits.factLocalMs : this.#factMs;
    return `the filesystem of ${path} did not answer within ${ms} ms; try again when it does, or use another path`;
  }

  #wayTo(path: string, device: bigint | null): Way {
    if (this.#mounts === null) {
      if (mountParents.has(dirname(path))) return { lane: path, local: false };
      const local = device !== null && this.#localDevices.has(device);
      return { lane: `device ${device ?? "unknown"}`, local };
    }
    let lane: string | null = null;
    let local = true;
    for (let at = path; ; at = dirname(at)) {
      const mounted = this.#mounts.get(at);
      if (mounted !== undefined) {
        lane ??= at;
        local &&= mounted;
      }
      if (at === "/") break;
    }
    return { lane: lane ?? "/", local: lane !== null && local };
  }

  #refreshMounts(): Promise<void> | null {
    if (this.#now() < this.#mountsUntil) return null;
    if (this.#reading === null && this.#readMountsNow()) return null;
    this.#reading ??= this.#readMounts().finally(() => {
      this.#mountsUntil = this.#now() + limits.mountsKeptMs;
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readMounts(): Promise<void> {
    const budget: Budget = {
      leftMs: limits.factMs,
      localMs: limits.factMs,
      until: this.clock.drive.now() + limits.factTimeMs,
    };
    try {
      const way = { lane: "mounts", local: true };
      const probed = await this.#ask(way, budget, prober => prober.mounts(), this.#here);
      if (probed.late) return;
      this.#setMounts(probed.value);
    } catch {
      // The earlier table stays; without one, the parent's device decides.
    }
  }

  /** Reads the mount points in this thread; false if only the pool may. */
  #readMountsNow(): boolean {
    if (this.#here === null || !this.#mayAskHere("mounts")) return false;
    try {
      this.#setMounts(this.#here.mountsNow());
    } catch {
      // The earlier table stays, as when the pool cannot read it.
    }
    this.#mountsUntil = this.#now() + limits.mountsKeptMs;
    return true;
  }

  #setMounts(table: readonly Mount[] | null): void {
    if (table === this.#table) return;
    this.#table = table;
    this.#mounts = table === null ? null : new Map(table.map(({ point, local }) => [point, local]));
  }
}

/** Returns null if the error says that the file does not exist; throws any other one. */
function absentStat(error: unknown): null {
  if (absent.has(systemCode(error) ?? "")) return null;
  throw error;
}

/** Returns Node's code of a system error, or null for any other error. */
function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && "syscall" in error && typeof error.code === "string"
    ? error.code
    : null;
}
