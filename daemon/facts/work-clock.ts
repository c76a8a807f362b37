/**
 * A clock for time-outs that counts work, and not the wait for a processor.
 *
 * It advances in beats. A beat begins with a timer and a job that does nothing. It ends when the timer has fired and the job
 * has come back from the thread pool. So the event loop turned and a thread ran. On an idle machine a beat lasts `beatMs`.
 * If processes outnumber processors it lasts longer, and still counts `beatMs`. The clock runs while it has a watcher.
 */

import { randomFill } from "node:crypto";
import { limits } from "../../protocol/limits.ts";

/** The timer and thread that drive a work clock; tests supply their own. */
export interface Drive {
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** Calls `then` once after `ms`, or later if the process has to wait for a processor. */
  after(ms: number, then: () => void): void;
  /** Resolves when a thread of the pool has run a job that does nothing. */
  thread(): Promise<void>;
}

const scratch = Buffer.alloc(1);

const systemDrive: Drive = {
  now: () => performance.now(),
  // After a stall timers come due before answers that have already arrived: `setImmediate` lets those in first.
  after: (ms, then) => void setTimeout(() => setImmediate(then), ms),
  thread: () =>
    new Promise((resolve, reject) => randomFill(scratch, error => (error ? reject(error) : resolve()))),
};

/** Called at each beat; `starved`: the event loop or the thread pool had to wait for a processor. */
type Watcher = (starved: boolean) => void;

export class WorkClock {
  readonly drive: Drive;
  readonly #watchers = new Set<Watcher>();
  #workedMs = 0;
  #isRunning = false;
  #starvedUntil = Number.NEGATIVE_INFINITY;

  constructor(drive: Drive = systemDrive) {
    this.drive = drive;
  }

  /** Milliseconds of work, in whole beats; only differences of two readings are meaningful. */
  get workedMs(): number {
    return this.#workedMs;
  }

  /** Whether the process had to wait for a processor in one of the latest beats. */
  get isStarved(): boolean {
    return this.drive.now() < this.#starvedUntil;
  }

  /** Calls `watcher` at each beat until the returned function is called. */
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
        // The job came back, even if with an error: a thread ran.
        isBack = true;
      },
    );
    this.#wait(() => isBack);
  }

  /** If the thread is not back yet, checks again after the same time. */
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

/** A budget: so much work, and so much time even if little of it was work. */
export class Allowance {
  readonly clock: WorkClock;
  readonly workMs: number;
  readonly #workUntil: number;
  readonly #timeUntil: number;

  /** The budget begins now. */
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

/** A number of slots. A slot that is given back goes to the one who waits longest: nobody who comes later gets in between. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#free = max;
  }

  /** Runs the work in a slot, once there is one. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>(go => this.#waiting.push(go));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

// Work that many callers ask for at a time.

interface Run<T> {
  readonly done: Promise<T>;
  next: Promise<T> | null;
}

/**
 * Runs work by a name. A caller that asks during a run of the same name shares the next run with others. That run begins
 * after their question, so its result is no older. At most `max` runs are under way.
 */
export class SharedRuns<T> {
  readonly #runs = new Map<string, Run<T>>();
  readonly #slots: Slots;

  constructor(max: number) {
    this.#slots = new Slots(max);
  }

  run(name: string, work: () => Promise<T>): Promise<T> {
    const run = this.#runs.get(name);
    if (run === undefined) return this.#begin(name, work);
    const begin = () => this.#begin(name, work);
    run.next ??= run.done.then(begin, begin);
    return run.next;
  }

  #begin(name: string, work: () => Promise<T>): Promise<T> {
    const run: Run<T> = { done: this.#slots.run(work), next: null };
    this.#runs.set(name, run);
    const end = () => {
      if (run.next === null) this.#runs.delete(name);
    };
    run.done.then(end, end);
    return run.done;
  }
}
