import { limits } from "../../protocol/limits.ts";
import { WorkClock } from "./work-clock.ts";

/** How a probe ended: with its value and the work it took, or not within its budget. */
export type Probed<T> =
  | { readonly late: false; readonly value: T; readonly ms: number }
  | { readonly late: true };

/** A question of the outside world. */
export interface Probe<T> {
  /** Asks through the thread pool. */
  readonly ask: () => Promise<T>;
  /**
   * Asks in this thread: settles before anything else happens. Null where that may never come back; rejects with
   * `NotHere` where it turns out that it might not.
   */
  readonly askNow: (() => Promise<T>) | null;
  /** Work that it may take. */
  readonly budgetMs: number;
  /** It is late at this time however little of it was work, by the clock's `now`. */
  readonly until: number;
}

/** What cannot be asked in this thread after all: the answer of the thread pool is waited for. */
export class NotHere extends Error {
  override readonly name = "NotHere";
}

/** A probe that was asked for, while it waits for a place or runs. */
interface Asked {
  /** What the clock of work read when it began to run; null: it waits for a place. */
  began: { readonly workedMs: number } | null;
  /** When it was asked for. */
  readonly since: number;
  /** Its caller has been answered. */
  isAnswered: boolean;
  isStuck: boolean;
  readonly budgetMs: number;
  readonly until: number;
  readonly start: () => void;
  readonly giveUp: () => void;
  readonly askNow: () => void;
}

interface Lane {
  readonly running: Set<Asked>;
  /**
   * Of those running, the ones whose budget is over. The thread they occupy comes back when the kernel
   * answers.
   */
  stuck: number;
  waiting: Asked[];
}

/**
 * Runs probes of the outside world, at most `max` at once in a lane, a lane being a device: a mount that
 * hangs occupies so many threads and no more. Waiting for a free place costs a probe nothing of its budget;
 * but where every place is taken by a probe that is overdue, whoever waits or comes is told `late` at once.
 *
 * Budgets are of work: a probe is not late because this process had to wait for a processor. Where it has to, probes
 * that can be asked in this thread are asked there, those that wait for a place too.
 */
export class PerDeviceLimit {
  readonly #lanes = new Map<string, Lane>();
  readonly #max: number;
  readonly #clock: WorkClock;
  #unwatch: (() => void) | null = null;

  constructor(max: number = limits.factsPerDeviceMax, clock: WorkClock = new WorkClock()) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Runs `probe` within its budget; what it throws is thrown on. A late probe's own end is ignored. */
  run<T>(name: string, { ask, askNow, budgetMs, until }: Probe<T>): Promise<Probed<T>> {
    const { drive } = this.#clock;
    const since = drive.now();
    if (budgetMs <= 0 || since >= until) return Promise.resolve({ late: true });
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { running: new Set(), stuck: 0, waiting: [] };
      this.#lanes.set(name, lane);
    }
    const here = lane;
    if (here.stuck >= this.#max) return Promise.resolve({ late: true });
    return new Promise<Probed<T>>((resolve, reject) => {
      const settle = (give: () => void): void => {
        if (asked.isAnswered) return;
        asked.isAnswered = true;
        give();
      };
      const spent = (): number => (asked.began === null ? 0 : this.#clock.workedMs - asked.began.workedMs);
      const asked: Asked = {
        began: null,
        since,
        isAnswered: false,
        isStuck: false,
        budgetMs,
        until,
        start: () => {
          const end = this.#begin(name, here, asked);
          this.#ask(ask, askNow).then(
            value => {
              end();
              settle(() => resolve({ late: false, value, ms: spent() }));
            },
            (error: unknown) => {
              end();
              settle(() => reject(error));
            },
          );
        },
        giveUp: () => settle(() => resolve({ late: true })),
        askNow: () => {
          askNow?.().then(
            value => settle(() => resolve({ late: false, value, ms: spent() })),
            (error: unknown) => {
              if (!(error instanceof NotHere)) settle(() => reject(error));
            },
          );
        },
      };
      this.#unwatch ??= this.#clock.watch(starved => this.#beat(starved));
      if (here.running.size < this.#max) asked.start();
      else here.waiting.push(asked);
    });
  }

  /** Where the pool gets no processor, each question would wait for one anew. */
  #ask<T>(ask: Probe<T>["ask"], askNow: Probe<T>["askNow"]): Promise<T> {
    if (askNow === null || !this.#clock.isStarved) return ask();
    return askNow().catch((error: unknown) => {
      if (error instanceof NotHere) return ask();
      throw error;
    });
  }

  /** Takes a place; the function that is returned gives it back and lets the next one begin. */
  #begin(name: string, lane: Lane, asked: Asked): () => void {
    asked.began = { workedMs: this.#clock.workedMs };
    lane.running.add(asked);
    return () => {
      lane.running.delete(asked);
      if (asked.isStuck) lane.stuck -= 1;
      let next = lane.waiting.shift();
      while (next?.isAnswered) next = lane.waiting.shift();
      next?.start();
      if (lane.running.size === 0) this.#lanes.delete(name);
    };
  }

  #beat(starved: boolean): void {
    let isWatching = false;
    const now = this.#clock.drive.now();
    for (const lane of this.#lanes.values()) {
      for (const asked of lane.running) if (!asked.isAnswered && this.#isOver(asked, now)) stick(lane, asked);
      const isStuck = lane.stuck >= this.#max;
      for (const asked of lane.waiting) if (isStuck || now >= asked.until) asked.giveUp();
      lane.waiting = lane.waiting.filter(asked => !asked.isAnswered);
      const left = [...lane.running, ...lane.waiting].filter(asked => !asked.isAnswered);
      // An answer does not take longer than this where a processor is free.
      for (const asked of left) if (starved && asked.since <= now - 2 * limits.workBeatMs) asked.askNow();
      isWatching ||= left.length > 0;
    }
    if (isWatching) return;
    this.#unwatch?.();
    this.#unwatch = null;
  }

  #isOver({ began, budgetMs, until }: Asked, now: number): boolean {
    return began !== null && (this.#clock.workedMs - began.workedMs >= budgetMs || now >= until);
  }
}

function stick(lane: Lane, asked: Asked): void {
  asked.isStuck = true;
  lane.stuck += 1;
  asked.giveUp();
}
