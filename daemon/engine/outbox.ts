/**
 * Holds outputs back until their entry is as durable as it has to be, in the order of the log. One turn of the event
 * loop sends `limits.turnAnswersMax` of them; the others leave in later turns, in the same order.
 *
 * Invariants: an output of entry n leaves when `durableSeq` has reached the last entry up to n that has to be durable.
 * After an entry that threw, no output leaves until the log has voided it: a replay before that could apply it.
 */
import { limits } from "../../protocol/limits.ts";
import { commandRules } from "../core/apply.ts";
import type { Command } from "../core/tables/entries.ts";
import type { Soon } from "../journal/format/batches.ts";

/** The fields that decide whether a command has to be durable. */
type Classed = Pick<Command, "type"> & { readonly durable?: boolean };

interface Waiting {
  /** The sequence number of the entry that has to be durable. */
  readonly needs: number;
  readonly send: () => void;
}

export class Outbox {
  readonly #soon: Soon;
  readonly #turnMax: number;
  #waiting: Waiting[] = [];
  /** How many of `#waiting` have left. */
  #sent = 0;
  /** How many more outputs may leave in this turn of the event loop. */
  #left: number;
  #scheduled = false;
  /** Entries that threw and that the log has not voided yet. */
  readonly #undecided = new Set<number>();
  #diskSeq = 0;
  #durableSeq = 0;

  /** `soon` calls back in the next turn of the event loop. */
  constructor(soon: Soon, turnMax: number = limits.turnAnswersMax) {
    this.#soon = soon;
    this.#turnMax = turnMax;
    this.#left = turnMax;
  }

  /** Notes an entry before it is applied; true if the journal has to sync it. */
  entered(seq: number, { type, durable = false }: Classed): boolean {
    const needs = commandRules[type].durable;
    if (needs === "asked" ? !durable : !needs) return false;
    this.#diskSeq = seq;
    return true;
  }

  /**
   * Takes `count` outputs from this turn's quota. True if the caller may send them now: no output is held back, and the
   * quota covers all of them. Otherwise the caller puts each of them.
   */
  claim(count: number): boolean {
    if (!this.#isClear || count > this.#left) return false;
    this.#take(count);
    return true;
  }

  /** Calls `send` once every applied entry is durable enough and this turn's quota has room for one output. */
  put(send: () => void): void {
    if (this.claim(1)) send();
    else this.#waiting.push({ needs: this.#diskSeq, send });
  }

  /** Sends everything that is durable enough at once; for a daemon that stops. */
  flush(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#send();
  }

  durable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    this.#send();
  }

  /** Entry `seq` threw: later outputs wait for `voided`. */
  threw(seq: number): void {
    this.#undecided.add(seq);
  }

  /** The log has voided entry `seq`. */
  voided(seq: number): void {
    if (this.#undecided.delete(seq)) this.#send();
  }

  /** Whether every applied entry is durable enough and no output waits. */
  get #isClear(): boolean {
    return this.#waiting.length === 0 && this.#undecided.size === 0 && this.#durableSeq >= this.#diskSeq;
  }

  /** The next output if it is durable enough, or null. */
  get #next(): Waiting | null {
    const next = this.#waiting[this.#sent];
    if (next === undefined || next.needs > this.#durableSeq || this.#undecided.size > 0) return null;
    return next;
  }

  #send(): void {
    for (let next = this.#next; next !== null && this.#left > 0; next = this.#next) {
      this.#sent += 1;
      this.#take(1);
      next.send();
    }
    this.#waiting.splice(0, this.#sent);
    this.#sent = 0;
  }

  #take(count: number): void {
    this.#left -= count;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.#left = this.#turnMax;
      this.#send();
    });
  }
}
