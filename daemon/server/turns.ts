/**
 * Lets long replies take turns with each other and with all other work: each turn of the event loop makes a piece of
 * one reply, then of the next.
 *
 * Invariants: the steps of one turn of the event loop cost `limits.turnBytes` together, and at most one step more. A
 * job that had its turn goes to the end of the queue. A closed connection's job is dropped.
 */
import { limits } from "../../protocol/limits.ts";
import type { Connection } from "./connection.ts";

/**
 * Work that can be interrupted after each step. A step yields its cost, in bytes of text or equal effort. It gets back
 * whether other work ran since: the state may have changed then.
 */
export type Steps<T> = Generator<number, T, boolean | undefined>;

interface Job {
  readonly connection: Pick<Connection, "isClosed">;
  /** Makes one step; returns its cost, or null when the job has ended. */
  readonly step: (interrupted: boolean) => number | null;
  /** Called when the connection is closed. */
  readonly drop: () => void;
  interrupted: boolean;
}

export class Turns {
  readonly #soon: (task: () => void) => void;
  readonly #jobs = new Set<Job>();
  #left: number = limits.turnBytes;
  #scheduled = false;

  /** `soon` calls back in the next turn of the event loop. */
  constructor(soon: (task: () => void) => void = task => void setImmediate(task)) {
    this.#soon = soon;
  }

  /** Runs the steps; resolves with their result, or with null if the connection closes first. */
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
      // No other job waits: a short reply is made at once.
      if (this.#jobs.size === 1) this.#run();
      this.#schedule();
    });
  }

  /** Runs a task in the next turn of the event loop. */
  later(task: () => void): void {
    this.#soon(task);
  }

  #run(): void {
    for (const job of this.#jobs) {
      if (this.#left <= 0) return;
      this.#jobs.delete(job);
      if (this.#piece(job)) this.#jobs.add(job);
    }
  }

  /** Runs steps until the job or this turn ends; false if the job ended. */
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
