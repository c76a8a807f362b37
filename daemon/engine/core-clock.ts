import type { Clock } from "./clock.ts";

/**
 * The clock of the core's time, which never goes back. The machine's clock may: a person set it, or another node's
 * clock is ahead. This clock then runs ahead of it: standing still would prolong every wait.
 */
export class CoreClock implements Clock {
  readonly #clock: Clock;
  /** How far it is ahead of the machine's clock, in milliseconds; it only rises. A field, since each turn of the log reads it. */
  aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes this clock read at least `t`, the time of an entry in the log. */
  catchUp(t: number): void {
    this.aheadMs = Math.max(this.aheadMs, t - this.#clock.now());
  }

  now(): number {
    return this.#clock.now() + this.aheadMs;
  }

  wall(): number {
    return this.#clock.wall();
  }

  at(at: number, callback: () => void): () => void {
    return this.#clock.at(at - this.aheadMs, callback);
  }
}
