/** Waits for what becomes so: it is looked at after each change, and now and then. */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../engine/clock.ts";

export class Waits {
  readonly #clock: Clock;
  #looks: (() => void)[] = [];
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed. */
  changed(): void {
    for (const look of this.#looks.splice(0)) look();
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true;
    this.changed();
  }

  /** Resolves with true when `isSo`, or with false after `waitMs`. */
  until(isSo: () => boolean, waitMs: number): Promise<boolean> {
    const clock = this.#clock;
    const until = clock.now() + waitMs;
    return new Promise(resolve => {
      const look = () => {
        const is = isSo();
        if (is || this.#isClosed || clock.now() >= until) {
          resolve(is);
          return;
        }
        const again = () => {
          this.#looks = this.#looks.filter(one => one !== again);
          cancel();
          look();
        };
        const cancel = clock.at(Math.min(until, clock.now() + limits.storeLookMs), again);
        this.#looks.push(again);
      };
      look();
    });
  }
}
