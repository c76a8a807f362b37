/** Limits the concurrent filesystem questions of each device. */
import { limits } from "../../protocol/limits.ts";
import { WorkClock } from "./work-clock.ts";

/** A probe's result: its value and the work in milliseconds, or late. */
export type Probed<T> =
  | { readonly late: false; readonly value: T; readonly ms: number }
  | { readonly late: true };

/** A question to the filesystem or the system. */
export interface Probe<T> {
  /** Asks through the thread pool. */
  readonly ask: () => Promise<T>;
  /**
   * Asks in this thread and settles before anything else happens. Null if it might never return; rejects with `NotHere`
   * if it finds out that it might not.
   */
  readonly askNow: (() => Promise<T>) | null;
  /** Work that it may take, in milliseconds. */
  readonly budgetMs: number;
  /** The probe is late from this time on, however little of it was work, by the clock's `now`. */
  readonly until: number;
}

/** The question cannot be asked in this thread: its caller waits for the thread pool's answer. */
export class NotHere extends Error {
  override readonly name = "NotHere";
}

/** A probe that waits for a slot or runs. */
interface PendingProbe {
  /** Work clock when the probe began to run; null while it waits for a slot. */
  began: { readonly workedMs: number } | null;
  /** Time of the request. */
  readonly since: number;
  /** Whether its caller has been answered. */
  isAnswered: boolean;
  isStuck: boolean;
  readonly budgetMs: number;
  readonly until: number;
  readonly start: () => void;
  readonly giveUp: () => void;
  readonly askNow: () => void;
}

interface Lane {
  readonly running: Set<PendingProbe>;
  /** Number of running probes over their budget. Their threads return when the kernel answers. */
  stuck: number;
  waiting: PendingProbe[];
}

/**
 * Runs probes, at most `max` at once for each device (a lane): a mount that hangs occupies that many threads and no
 * more. Waiting for a slot costs a probe nothing of its budget. If overdue probes take every slot, waiting and new
 * probes are `late` at once.
 *
 * Budgets are of work: a probe is not late because this process waits for a processor. While it waits, probes that can
 * run in this thread do so, even those that wait for a slot.
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

  /** Runs `probe` within its budget and throws what it throws. A late probe's own result is ignored. */
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
      const asked: PendingProbe = {
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

  /** Whether overdue probes have taken every slot of a device. */
  isStuck(name: string): boolean {
    return (this.#lanes.get(name)?.stuck ?? 0) >= this.#max;
  }

  /** If the pool gets no processor, each question would wait for one again. */
  #ask<T>(ask: Probe<T>["ask"], askNow: Probe<T>["askNow"]): Promise<T> {
    if (askNow === null || !this.#clock.isStarved) return ask();
    return askNow().catch((error: unknown) => {
      if (error instanceof NotHere) return ask();
      throw error;
    });
  }

  /** Takes a slot; the returned function frees it and starts the next probe. */
  #begin(name: string, lane: Lane, asked: PendingProbe): () => void {
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
      // With a free processor an answer takes no longer than this.
      for (const asked of left) if (starved && asked.since <= now - 2 * limits.workBeatMs) asked.askNow();
      isWatching ||= left.length > 0;
    }
    if (isWatching) return;
    this.#unwatch?.();
    this.#unwatch = null;
  }

  #isOver({ began, budgetMs, until }: PendingProbe, now: number): boolean {
    return began !== null && (this.#clock.workedMs - began.workedMs >= budgetMs || now >= until);
  }
}

function stick(lane: Lane, asked: PendingProbe): void {
  asked.isStuck = true;
  lane.stuck += 1;
  asked.giveUp();
}
