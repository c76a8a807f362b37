/**
 * Keeps descriptors for the pipes of git. They are open all the time, so that no connection takes them, and are closed
 * for the moment in which a child is started: nothing else of the event loop runs in between.
 */
import { closeSync, openSync } from "node:fs";
import { isOutOfDescriptors } from "./prober.ts";

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
