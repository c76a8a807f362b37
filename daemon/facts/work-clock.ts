/**
 * A clock for time-outs that counts work and not the wait for a processor.
 *
 * It advances in beats. A beat ends when a timer has fired and, begun before it, one job that touches nothing has come
 * back from the thread pool: so the event loop turned and a thread ran. On an idle machine a beat lasts `beatMs`; where
 * processes outnumber processors it lasts longer, and counts `beatMs` all the same. It runs while somebody watches it.
 */
import { randomFill } from "node:crypto";
import { limits } from "../../protocol/limits.ts";

/** What a work clock is driven by; tests drive it themselves. */
export interface Drive {
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** Calls back once, `ms` later or as much later as the process has to wait for a processor. */
  after(ms: number, then: () => void): void;
  /** Resolves when a thread of the pool has run a job that touches nothing. */
  thread(): Promise<void>;
}

const scratch = Buffer.alloc(1);

export const systemDrive: Drive = {
  now: () => performance.now(),
  // After a stall timers come due before the answers that are there already: those are let in first.
  after: (ms, then) => void setTimeout(() => setImmediate(then), ms),
  thread: () =>
    new Promise((resolve, reject) => randomFill(scratch, error => (error ? reject(error) : resolve()))),
};

/** Hears each beat; `starved`: the event loop or the thread pool had to wait for a processor. */
export type Watcher = (starved: boolean) => void;

export class WorkClock {
  readonly drive: Drive;
  readonly #watchers = new Set<Watcher>();
  #workedMs = 0;
  #isRunning = false;
  #starvedUntil = Number.NEGATIVE_INFINITY;

  constructor(drive: Drive = systemDrive) {
    this.drive = drive;
  }

  /** Milliseconds of work, in whole beats; only the difference of two readings means something. */
  get workedMs(): number {
    return this.#workedMs;
  }

  /** Whether the process had to wait for a processor in one of the latest beats. */
  get isStarved(): boolean {
    return this.drive.now() < this.#starvedUntil;
  }

  /** `watcher` hears each beat until the function that is returned is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#beat();
    }
    return () => void this.#watchers.delete(watcher);
  }

  /** Resolves at the next beat. */
  beat(): Promise<void> {
    return new Promise(resolve => {
      const stop = this.watch(() => {
        stop();
        resolve();
      });
    });
  }

  #beat(): void {
    let isBack = false;
    this.drive.thread().then(
      () => {
        isBack = true;
      },
      () => {
        // It came back, if with an error: a thread ran.
        isBack = true;
      },
    );
    this.#wait(() => isBack);
  }

  /** A thread that is not back yet is looked for again after as long. */
  #wait(isBack: () => boolean): void {
    const { drive } = this;
    const began = drive.now();
    drive.after(limits.workBeatMs, () => {
      const hasWorked = isBack();
      const starved = !hasWorked || drive.now() - began > 2 * limits.workBeatMs;
      if (hasWorked) this.#workedMs += limits.workBeatMs;
      if (starved) this.#starvedUntil = drive.now() + limits.starvedMs;
      for (const watcher of [...this.#watchers]) watcher(starved);
      if (!hasWorked) this.#wait(isBack);
      else if (this.#watchers.size > 0) this.#beat();
      else this.#isRunning = false;
    });
  }
}

/** What may be spent on something: so much work, and so much time however little of it was work. */
export class Allowance {
  readonly clock: WorkClock;
  readonly workMs: number;
  readonly #workUntil: number;
  readonly #timeUntil: number;

  /** Begins now. */
  constructor(clock: WorkClock, workMs: number, timeMs: number) {
    this.clock = clock;
    this.workMs = workMs;
    this.#workUntil = clock.workedMs + workMs;
    this.#timeUntil = clock.drive.now() + timeMs;
  }

  get isOver(): boolean {
    return this.clock.workedMs >= this.#workUntil || this.clock.drive.now() >= this.#timeUntil;
  }
}
