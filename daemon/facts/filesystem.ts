import { dirname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { PerDeviceLimit, type Probed } from "./per-device-limit.ts";
import { isOutOfDescriptors, nodeProber, nodeProberHere, type Prober } from "./prober.ts";
import { WorkClock } from "./work-clock.ts";

/** A fact that could not be had: `unreachable` is a sentence. */
export interface Unreachable {
  readonly unreachable: string;
}

/** Thrown inside the facts only; their public methods turn it into `Unreachable`. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** What one fact may still spend: work on filesystems that may hang, work on local ones, and time in all. */
export interface Budget {
  leftMs: number;
  localMs: number;
  readonly until: number;
}

export interface OutsideOptions {
  /** Asks in this thread what is on a local filesystem; null: nobody does. */
  readonly here?: Prober | null;
  readonly clock?: WorkClock;
  /** Work that one fact may take on a filesystem that may hang: a person's command waits longer than a lock may. */
  readonly factMs?: number;
}

/** How a question is asked. */
export interface Look {
  /** A link further up may lead the path elsewhere, so nobody knows the filesystem: only the pool is asked. */
  readonly maybeElsewhere?: boolean;
}

interface Way {
  readonly lane: string;
  readonly local: boolean;
}

/** Not there, or not to be seen by this user, who then cannot write it either. */
const absent: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM"]);

/** Where volumes are mounted on systems without a table of mounts. */
const mountParents: ReadonlySet<string> = new Set(["/Volumes", "/Network", "/net", "/mnt", "/media"]);

/**
 * The outside world as the facts see it: every question about a path runs in the lane of the device it is on,
 * within what its fact may still spend. The device has to be known without touching the path: on Linux it is
 * the longest mount point in the kernel's table, which is read without touching any mount; elsewhere the
 * device of the parent directory, children of `/Volumes` and the like being devices of their own.
 *
 * A filesystem that may hang gets little work before it counts as hung. A local one gets more, and is asked in this
 * thread where the thread pool gets no processor: it does not count as hung because the machine is busy.
 */
export class BudgetedFs {
  readonly clock: WorkClock;
  readonly #prober: Prober;
  readonly #here: Prober | null;
  readonly #lanes: PerDeviceLimit;
  readonly #now: () => number;
  readonly #factMs: number;
  readonly #localDevices = new Set<bigint>();
  #mounts: ReadonlyMap<string, boolean> | null = null;
  #mountsUntil = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(
    prober: Prober = nodeProber,
    now: () => number = () => performance.now(),
    options: OutsideOptions = {},
  ) {
    this.#prober = prober;
    this.#here =
      options.here === undefined && prober === nodeProber ? nodeProberHere : (options.here ?? null);
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
   * Answers a fact with a budget of its own. What could not be answered in time, or was refused by the system
   * for another reason than that it is not there, comes back as a sentence.
   */
  async fact<T>(addToSet: (budget: Budget) => Promise<T>): Promise<T | Unreachable> {
    try {
      const until = this.clock.drive.now() + limits.factTimeMs;
      return await addToSet({ leftMs: this.#factMs, localMs: limits.factLocalMs, until });
    } catch (error) {
      // An answer in itself: that it cannot be known is what the caller has to act on.
      if (error instanceof NoAnswer) return { unreachable: error.message };
      throw error;
    }
  }

  /** The device was seen to answer from this machine alone; only where there is no table of mounts it matters. */
  knowLocal(device: bigint): void {
    if (this.#localDevices.size < limits.directoriesMax) this.#localDevices.add(device);
  }

  /**
   * One question about `path`, which must be real up to its parent (else the lane may be the wrong one).
   * `device` is the parent's, where known. Null: there is nothing of that name, or nothing that this user may
   * see.
   */
  async look<T>(
    path: string,
    device: bigint | null,
    budget: Budget,
    probe: (prober: Prober, path: string) => Promise<T>,
    { maybeElsewhere = false }: Look = {},
  ): Promise<T | null> {
    // A project may be any word; the walk up to its volume would never end.
    if (!path.startsWith("/"))
      throw new NoAnswer(`${path} is not an absolute path; nobody knows where it is`);
    if (path.includes("\0"))
      throw new NoAnswer(`${JSON.stringify(path)} contains a NUL character; no file can`);
    await this.#refreshMounts();
    const way = this.#wayTo(path, device);
    const here = maybeElsewhere ? null : this.#here;
    try {
      for (;;) {
        try {
          const probed = await this.#ask(way, budget, prober => probe(prober, path), here);
          if (!probed.late) return probed.value;
          throw new NoAnswer(this.#late(path, way, budget));
        } catch (error) {
          if (!isOutOfDescriptors(error) || budget.leftMs <= 0) throw error;
          // Whoever is served now gives descriptors back.
          await this.clock.beat();
          budget.leftMs -= limits.workBeatMs;
        }
      }
    } catch (error) {
      const code = systemCode(error);
      // Absence is an answer: files that do not exist yet are asked about too.
      if (code !== null && absent.has(code)) return null;
      if (code !== null)
        throw new NoAnswer(`${path} cannot be looked at (${code}); check the path and its permissions`);
      throw error;
    }
  }

  /** Gives up a fact, with the sentence for its caller. */
  noAnswer(sentence: string): never {
    throw new NoAnswer(sentence);
  }

  async #ask<T>(
    { lane, local }: Way,
    budget: Budget,
    probe: (prober: Prober) => Promise<T>,
    here: Prober | null,
  ): Promise<Probed<T>> {
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

  #late(path: string, { local }: Way, { until }: Budget): string {
    // All the time there was went by, and little of it was work.
    if (this.clock.drive.now() >= until)
      return `${path} could not be looked at within ${limits.factTimeMs / 1000} s, the machine is busy; try again`;
    const ms = local ? limits.factLocalMs : this.#factMs;
    return `the filesystem of ${path} did not answer within ${ms} ms; try again when it does, or use another path`;
  }

  #wayTo(path: string, device: bigint | null): Way {
    if (this.#mounts === null) {
      if (mountParents.has(dirname(path))) return { lane: path, local: false };
      const local = device !== null && this.#localDevices.has(device);
      return { lane: `device ${device ?? "unknown"}`, local };
    }
    let point = path;
    while (point !== "/" && !this.#mounts.has(point)) point = dirname(point);
    return { lane: point, local: this.#mounts.get(point) ?? false };
  }

  #refreshMounts(): Promise<void> | null {
    if (this.#now() < this.#mountsUntil) return null;
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
      this.#mounts =
        probed.value === null ? null : new Map(probed.value.map(({ point, local }) => [point, local]));
    } catch {
      // The table as it was counts; without one, lanes are told apart by the parent's device.
    }
  }
}

/** Node's name of a system error, or null where `error` is something else. */
function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && "syscall" in error && typeof error.code === "string"
    ? error.code
    : null;
}
