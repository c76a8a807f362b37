/** A machine that runs what a test tells it to: its clock, its timers, and the thread pool of one process. */
import type { Drive } from "../../daemon/facts/work-clock.ts";

export class FakeMachine implements Drive {
  /** Threads of the pool get no processor. */
  isPoolStarved = false;
  #now = 0;
  #timers: { readonly at: number; readonly then: () => void }[] = [];
  #threads: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, then: () => void): void {
    this.#timers.push({ at: this.#now + ms, then });
  }

  thread(): Promise<void> {
    return new Promise(resolve => this.#threads.push(resolve));
  }

  /** So much time goes by in which this process has a processor, and its threads unless they are starved. */
  async work(ms: number): Promise<void> {
    for (const until = this.#now + ms; this.#now < until; ) {
      this.#now = Math.min(until, ...this.#timers.map(timer => timer.at));
      await this.#turn();
    }
  }

  /** So much time goes by in which nothing of this process has a processor. */
  async stall(ms: number): Promise<void> {
    this.#now += ms;
    await this.#turn();
  }

  async #turn(): Promise<void> {
    if (!this.isPoolStarved) for (const resolve of this.#threads.splice(0)) resolve();
    await settled();
    const due = this.#timers.filter(timer => timer.at <= this.#now);
    this.#timers = this.#timers.filter(timer => timer.at > this.#now);
    for (const { then } of due) then();
    await settled();
  }
}

/** Everything that waits for nothing but its turn has had it. */
export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
