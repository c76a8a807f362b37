import { limits } from "../protocol/limits.ts";

/** How a probe ended: with its value and how long it ran, or not within its budget. */
export type Probed<T> =
  | { readonly late: false; readonly value: T; readonly ms: number }
  | { readonly late: true };

interface Lane {
  running: number;
  /**
   * Of those running, the ones whose budget is over. The thread they occupy comes back when the kernel
   * answers.
   */
  stuck: number;
  readonly waiting: Array<{ readonly start: () => void; readonly giveUp: () => void }>;
}

/**
 * Runs probes of the outside world, at most `max` at once in a lane, a lane being a device: a mount that
 * hangs occupies so many threads and no more. Waiting for a free place costs a probe nothing of its budget;
 * but where every place is taken by a probe that is overdue, whoever waits or comes is told `late` at once.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number = limits.factsPerDeviceMax, now: () => number = () => performance.now()) {
    this.#max = max;
    this.#now = now;
  }

  /** Runs `probe` for at most `budgetMs`; what it throws is thrown on. A late probe's own end is ignored. */
  run<T>(name: string, probe: () => Promise<T>, budgetMs: number): Promise<Probed<T>> {
    if (budgetMs <= 0) return Promise.resolve({ late: true });
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { running: 0, stuck: 0, waiting: [] };
      this.#lanes.set(name, lane);
    }
    const here = lane;
    if (here.stuck >= this.#max) return Promise.resolve({ late: true });
    return new Promise<Probed<T>>((resolve, reject) => {
      const start = (): void => this.#start(name, here, probe, budgetMs, resolve, reject);
      if (here.running < this.#max) start();
      else here.waiting.push({ start, giveUp: () => resolve({ late: true }) });
    });
  }

  #start<T>(
    name: string,
    lane: Lane,
    probe: () => Promise<T>,
    budgetMs: number,
    resolve: (probed: Probed<T>) => void,
    reject: (error: unknown) => void,
  ): void {
    const began = this.#now();
    let state: "running" | "stuck" | "ended" = "running";
    lane.running++;
    const overdue = (): void => {
      if (state !== "running") return;
      state = "stuck";
      lane.stuck++;
      resolve({ late: true });
      if (lane.stuck >= this.#max) for (const one of lane.waiting.splice(0)) one.giveUp();
    };
    // After a stall of this process its timers come due before the answers that are there already: let those
    // in first.
    const timer = setTimeout(() => setImmediate(overdue), budgetMs);
    const ended = (): void => {
      clearTimeout(timer);
      if (state === "stuck") lane.stuck--;
      state = "ended";
      lane.running--;
      lane.waiting.shift()?.start();
      if (lane.running === 0) this.#lanes.delete(name);
    };
    probe().then(
      value => {
        ended();
        resolve({ late: false, value, ms: this.#now() - began });
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
  }
}
