import { dirname } from "node:path";
import { limits } from "../protocol/limits.ts";
import { Lanes } from "./facts-lanes.ts";
import { nodeProber, type Prober } from "./facts-prober.ts";

/** A fact that could not be had: `unreachable` is a sentence. */
export interface Unreachable {
  readonly unreachable: string;
}

/** Thrown inside the facts only; their public methods turn it into `Unreachable`. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** What one fact may still spend. */
export interface Budget {
  leftMs: number;
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
 */
export class Outside {
  readonly #prober: Prober;
  readonly #lanes: Lanes;
  readonly #now: () => number;
  #mounts: ReadonlySet<string> | null = null;
  #mountsUntil = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(prober: Prober = nodeProber, now: () => number = () => performance.now()) {
    this.#prober = prober;
    this.#lanes = new Lanes(limits.factsPerDeviceMax, now);
    this.#now = now;
  }

  /** A monotonic clock in milliseconds. */
  now(): number {
    return this.#now();
  }

  /**
   * Answers a fact with a budget of its own. What could not be answered in time, or was refused by the system
   * for another reason than that it is not there, comes back as a sentence.
   */
  async fact<T>(gather: (budget: Budget) => Promise<T>): Promise<T | Unreachable> {
    try {
      return await gather({ leftMs: limits.factMs });
    } catch (error) {
      // An answer in itself: that it cannot be known is what the caller has to act on.
      if (error instanceof NoAnswer) return { unreachable: error.message };
      throw error;
    }
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
  ): Promise<T | null> {
    // A project may be any word; the walk up to its volume would never end.
    if (!path.startsWith("/"))
      throw new NoAnswer(`${path} is not an absolute path; nobody knows where it is`);
    if (path.includes("\0"))
      throw new NoAnswer(`${JSON.stringify(path)} contains a NUL character; no file can`);
    await this.#refreshMounts();
    try {
      const probed = await this.#lanes.run(
        this.#lane(path, device),
        () => probe(this.#prober, path),
        budget.leftMs,
      );
      if (probed.late) {
        throw new NoAnswer(
          `the filesystem of ${path} did not answer within ${limits.factMs} ms; try again when it does, or use another path`,
        );
      }
      budget.leftMs -= probed.ms;
      return probed.value;
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

  #lane(path: string, device: bigint | null): string {
    if (this.#mounts === null) {
      return mountParents.has(dirname(path)) ? path : `device ${device ?? "unknown"}`;
    }
    let point = path;
    while (point !== "/" && !this.#mounts.has(point)) point = dirname(point);
    return point;
  }

  #refreshMounts(): Promise<void> | null {
    if (this.#now() < this.#mountsUntil) return null;
    this.#reading ??= this.#lanes
      .run("mounts", () => this.#prober.mounts(), limits.factMs)
      .then(
        probed => {
          if (!probed.late) this.#mounts = probed.value === null ? null : new Set(probed.value);
        },
        () => {
          // Without the table, lanes are told apart by the parent's device.
          this.#mounts = null;
        },
      )
      .finally(() => {
        this.#mountsUntil = this.#now() + limits.mountsKeptMs;
        this.#reading = null;
      });
    return this.#reading;
  }
}

/** Node's name of a system error, or null where `error` is something else. */
function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && "syscall" in error && typeof error.code === "string"
    ? error.code
    : null;
}
