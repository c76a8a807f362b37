/** The daemon's clock, the time of the core, and the timers that are due. */

import { limits } from "../../protocol/limits.ts";
import { allDue, dueAt } from "../core/apply.ts";
import type { State } from "../core/state.ts";
import type { Command, Due, Reply, Timer } from "../core/tables/entries.ts";

/** The daemon's clock. The core reads no clock: it gets the time with each entry. The simulation has its own. */
export interface Clock {
  /** Milliseconds since 1970: wall time at the start, monotonic from then on. */
  now(): number;
  /** Wall time in milliseconds, shown to people; it may jump. */
  wall(): number;
  /** Calls `callback` once when `now()` has reached `at`; the returned function cancels it. */
  at(at: number, callback: () => void): () => void;
}

/** setTimeout counts in 32 bits. A longer wait fires early, and its caller sets it again. */
const timeoutMaxMs = 2 ** 31 - 1;

/** Returns the machine's clock. Its timers do not keep the process alive. */
export function systemClock(): Clock {
  const offset = Date.now() - performance.now();
  const now = () => Math.floor(offset + performance.now());
  return {
    now,
    wall: () => Date.now(),
    at(at, callback) {
      const ms = Math.min(Math.max(0, at - now()), timeoutMaxMs);
      const timer = setTimeout(callback, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/**
 * The clock of the core's time, which never goes back. The machine's clock may, between two starts: a person set it. This
 * clock then runs ahead of it: standing still would prolong every wait.
 */
export class CoreClock implements Clock {
  readonly #clock: Clock;
  /** How far it is ahead of the machine's clock, in milliseconds. */
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes this clock read at least `t`, the time of the log's last entry at the start. */
  catchUp(t: number): void {
    this.#aheadMs = Math.max(0, t - this.#clock.now());
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

/**
 * Timers, earliest first, in a binary heap. `take` and `sweep` drop those that are over.
 *
 * Only the earliest of several timers with the same name counts. The caller of `take` asks the core for the next time.
 */
export class Deadlines {
  readonly #heap: Timer[] = [];
  /** Due time by timer name. */
  readonly #times = new Map<string, number>();
  /** The heap index at which the next sweep begins. */
  #swept = 0;

  /** The earliest due time, or an earlier one that no longer counts; null if the heap is empty. */
  get next(): number | null {
    return this.#heap[0]?.at ?? null;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(timer: Timer): void {
    const name = nameOf(timer.due);
    const known = this.#times.get(name);
    if (known !== undefined && known <= timer.at) return;
    this.#times.set(name, timer.at);
    this.#rise(this.#heap.length, timer);
  }

  /** Removes and returns the earliest timer due at `now`, or null. */
  take(now: number): Timer | null {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.at > now) return null;
      const last = this.#heap.pop();
      if (last !== undefined && last !== first) this.#sink(0, last);
      const name = nameOf(first.due);
      // A timer of this name with an earlier time was added later and has been taken.
      if (this.#times.get(name) !== first.at) continue;
      this.#times.delete(name);
      return first;
    }
  }

  /**
   * Checks `count` timers and drops those that are over. The next call continues after them, so every timer is checked in
   * time. A count of twice the timers checks all, because a timer that takes a dropped one's place may be checked twice.
   */
  sweep(count: number, isOver: (due: Due) => boolean): void {
    for (let left = Math.min(count, 2 * this.#heap.length); left > 0; left -= 1) {
      if (this.#swept >= this.#heap.length) this.#swept = 0;
      const timer = this.#heap[this.#swept];
      if (timer === undefined) return;
      if (!isOver(timer.due)) {
        this.#swept += 1;
        continue;
      }
      this.#forget(timer);
      const last = this.#heap.pop();
      if (last === undefined || last === timer) continue;
      // The last timer may rise to where the sweep has been, so it is checked before it takes the free place.
      if (isOver(last.due)) this.#forget(last);
      else if (last.at < timer.at) this.#rise(this.#swept, last);
      else this.#sink(this.#swept, last);
    }
  }

  clear(): void {
    this.#heap.length = 0;
    this.#times.clear();
  }

  #forget({ due, at }: Timer): void {
    const name = nameOf(due);
    if (this.#times.get(name) === at) this.#times.delete(name);
  }

  /** Moves the timer up from `i` to its position. */
  #rise(from: number, timer: Timer): void {
    const heap = this.#heap;
    let i = from;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || parent.at <= timer.at) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = timer;
  }

  /** Moves the timer down from `from` to its position. */
  #sink(from: number, timer: Timer): void {
    const heap = this.#heap;
    let i = from;
    for (;;) {
      const left = 2 * i + 1;
      const a = heap[left];
      const b = heap[left + 1];
      if (a === undefined) break;
      const [child, at] = b !== undefined && b.at < a.at ? [b, left + 1] : [a, left];
      if (child.at >= timer.at) break;
      heap[i] = child;
      i = at;
    }
    heap[i] = timer;
  }
}

function nameOf(due: Due): string {
  return Object.values(due).join("\n");
}

interface AgendaOptions {
  readonly clock: Clock;
  /** Core time now. */
  readonly now: () => number;
  readonly state: () => State;
  readonly submit: (command: Command, caller: { answer(reply: Reply): void }) => void;
}

/**
 * Proposes timers when they are due, with one system timer. A due timer is checked against the core first: one that is
 * over costs no entry, one that moved waits on.
 *
 * Most locks end long before their lease. A busy daemon must not keep the timers of all locks of the last ten minutes. So
 * each new timer checks `limits.timersSwept` others, and at most about a third of all timers are over.
 */
export class Agenda {
  readonly #options: AgendaOptions;
  readonly #deadlines = new Deadlines();
  #cancel: (() => void) | null = null;
  #armedAt = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: AgendaOptions) {
    this.#options = options;
  }

  add(timers: readonly Timer[]): void {
    for (const timer of timers) this.#deadlines.add(timer);
    if (this.#deadlines.size <= limits.timersUnsweptMax) return;
    const state = this.#options.state();
    this.#deadlines.sweep(timers.length * limits.timersSwept, due => dueAt(state, due) === null);
  }

  /** Number of timers kept. */
  get size(): number {
    return this.#deadlines.size;
  }

  /** Rebuilds the timers from the state, after a start or a rebuild. */
  reset(): void {
    this.#deadlines.clear();
    this.add(allDue(this.#options.state()));
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  /** Sets the system timer to the next due time. */
  arm(): void {
    const next = this.#deadlines.next ?? Number.POSITIVE_INFINITY;
    if (this.#closed || next === this.#armedAt) return;
    this.#cancel?.();
    this.#cancel = null;
    this.#armedAt = next;
    if (next === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#options.clock.at(next, () => {
      this.#armedAt = Number.POSITIVE_INFINITY;
      this.proposeDue();
    });
  }

  /** Proposes the timers that are due now, as many as one turn of the event loop may; `arm` sees to the others. */
  proposeDue(): void {
    const now = this.#options.now();
    for (let left: number = limits.turnTimersMax; left > 0; left -= 1) {
      const timer = this.#deadlines.take(now);
      if (timer === null) break;
      this.#propose(timer.due, now);
    }
    this.arm();
  }

  #propose(due: Due, now: number): void {
    const at = dueAt(this.#options.state(), due);
    if (at === null) return;
    if (at > now) this.#deadlines.add({ at, due });
    else this.#options.submit({ type: "elapse", due }, { answer: reply => this.#elapsed(due, reply) });
  }

  /** Retries a timer that was not stored. */
  #elapsed(due: Due, reply: Reply): void {
    if (reply.ok || this.#closed || dueAt(this.#options.state(), due) === null) return;
    this.#deadlines.add({ at: this.#options.now() + limits.fullRetryMs, due });
    this.arm();
  }
}
