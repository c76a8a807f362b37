/**
 * Tells the shared log anew of all sessions of this machine.
 *
 * Invariants: one telling is under way at a time, and at most one more waits. Calls of sessions that the log does not have
 * begin one every `limits.storeTellMs` at most, however many come.
 */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../engine/clock.ts";

export class Telling {
  readonly #clock: Clock;
  readonly #tell: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, tell: () => Promise<void>) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Resolves when all was told that is so at this call. */
  again(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      this.#lastMs = this.#clock.now();
      this.#running = this.#tell();
      return this.#running;
    });
    return this.#next;
  }

  /** The same, unless that began a moment ago: what came since goes through the outbox. */
  ifDue(): Promise<void> {
    if (this.#next !== null || this.#clock.now() >= this.#lastMs + limits.storeTellMs) return this.again();
    return this.#running;
  }
}
