import { limits } from "../../protocol/limits.ts";
import { allDue, dueAt } from "../core/apply.ts";
import type { State } from "../core/state.ts";
import type { Command, Due, Reply, Timer } from "../core/tables/entries.ts";
import type { Clock } from "./clock.ts";
import { Deadlines } from "./deadline-heap.ts";

/** A system timer may be late by so much. */
const lateMs = 1_000;

export interface AgendaOptions {
  readonly clock: Clock;
  /** Core time now. */
  readonly now: () => number;
  /** Says how far core time is ahead of the clock that system timers go by; it only rises. Absent: never. */
  readonly coreClock?: { readonly aheadMs: number };
  readonly state: () => State;
  readonly submit: (command: Command, caller: { answer(reply: Reply): void }) => void;
}

/**
 * Proposes timers when they are due, with one system timer. A due timer is checked against the core first: one that is
 * over costs no entry, one that moved waits on.
 *
 * Most locks end long before their lease. So that a busy daemon does not keep the timers of all locks of the last ten
 * minutes, each new timer checks `limits.timersSwept` others: at most about a third of all are over.
 */
export class Agenda {
  readonly #options: AgendaOptions;
  readonly #deadlines = new Deadlines();
  #cancel: (() => void) | null = null;
  #armedAt = Number.POSITIVE_INFINITY;
  /** `aheadMs` when the system timer was set. */
  #armedAheadMs = 0;
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
    const aheadMs = this.#options.coreClock?.aheadMs ?? 0;
    // Core time that went ahead leaves the system timer as late as that.
    if (this.#closed || (next === this.#armedAt && aheadMs < this.#armedAheadMs + lateMs)) return;
    this.#cancel?.();
    this.#cancel = null;
    [this.#armedAt, this.#armedAheadMs] = [next, aheadMs];
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

  /** Retries a timer that was not stored, or that was early by the log's clock. */
  #elapsed(due: Due, reply: Reply): void {
    if (reply.ok || this.#closed || dueAt(this.#options.state(), due) === null) return;
    this.#deadlines.add({ at: this.#options.now() + limits.fullRetryMs, due });
    this.arm();
  }
}
