/**
 * Long answers take turns, with each other and with everything else: with each turn of the event loop a piece of one is
 * made, then of the next.
 *
 * Invariants: the steps made within one turn of the event loop cost `limits.turnBytes` together, and one step more; who
 * had its turn goes to the end of the queue; nothing more is made for a connection that is gone.
 */
import { limits } from "../../protocol/limits.ts";
import type { Connection } from "./connection.ts";

/**
 * Work that can be interrupted after each step. A step yields what it cost, in bytes of text or what takes as long, and
 * gets back whether others had their turn since: then the state may be another one.
 */
export type Steps<T> = Generator<number, T, boolean | undefined>;

interface Job {
  readonly connection: Pick<Connection, "isClosed">;
  /** Makes one step; returns its cost, or null when the job is over. */
  readonly step: (interrupted: boolean) => number | null;
  /** The connection is gone. */
  readonly drop: () => void;
  interrupted: boolean;
}

export class Turns {
  readonly #soon: (task: () => void) => void;
  readonly #jobs = new Set<Job>();
  #left: number = limits.turnBytes;
  #scheduled = false;

  /** `soon` calls back with the next turn of the event loop. */
  constructor(soon: (task: () => void) => void = task => void setImmediate(task)) {
    this.#soon = soon;
  }

  /** Goes through the steps; resolves with what they return, or with null when the connection is gone first. */
  make<T>(connection: Job["connection"], steps: Steps<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const step = (interrupted: boolean) => {
        try {
          const { done, value } = steps.next(interrupted);
          if (done !== true) return value;
          resolve(value);
        } catch (error) {
          reject(error);
        }
        return null;
      };
      this.#jobs.add({ connection, step, drop: () => resolve(null), interrupted: false });
      // Nobody waits: what is short is made at once.
      if (this.#jobs.size === 1) this.#run();
      this.#schedule();
    });
  }

  #run(): void {
    for (const job of this.#jobs) {
      if (this.#left <= 0) return;
      this.#jobs.delete(job);
      if (this.#piece(job)) this.#jobs.add(job);
    }
  }

  /** Makes steps until the job or this turn is over; false when it is the job. */
  #piece(job: Job): boolean {
    if (job.connection.isClosed) {
      job.drop();
      return false;
    }
    while (this.#left > 0) {
      const cost = job.step(job.interrupted);
      job.interrupted = false;
      if (cost === null) return false;
      this.#left -= cost;
    }
    job.interrupted = true;
    return true;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.#left = limits.turnBytes;
      this.#run();
      if (this.#jobs.size > 0) this.#schedule();
    });
  }
}
