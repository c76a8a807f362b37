import type { Clock } from "./clock.ts";

/**
 * The clock by which the core's time goes on. Core time never goes back, the machine's clock may (somebody set it
 * between two starts, or another node's is ahead): then this one runs ahead of it, rather than standing still
 * until it has caught up, with every wait that long.
 */
export class CoreClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The log has seen `t`: from now on it is not earlier here. */
  catchUp(t: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, t - this.#clock.now());
  }

  now(): number {
    return this.#clock.now() + this.#aheadMs;
  }

  wall(): number {
    return this.#clock.wall();
  }

  at(at: number, callback: () => void): () => void {
    return this.#clock.at(at - this.#aheadMs, callback);
  }
}
