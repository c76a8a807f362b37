/**
 * Holds outputs back until their entry is as durable as it has to be, in the order of the log. One turn of the event
 * loop sends `limits.turnAnswersMax` of them; those beyond leave with the next turns, in the same order.
 *
 * An output of entry n leaves when `durableSeq` has reached the last entry at or before n that has to be durable (command-traits.ts).
 * Nothing leaves behind an entry that threw before the log says that it is void: until then a new start could find
 * that it counts.
 */
import { limits } from "../../protocol/limits.ts";
import { commandTraits } from "../core/command-traits.ts";
import type { Command } from "../core/commands.ts";
import type { Soon } from "../journal/batches.ts";

/** What tells whether a command has to be durable: its type, and for context what it asks for. */
type Classed = Pick<Command, "type"> & { readonly durable?: boolean };

interface Waiting {
  /** The entry that has to be durable. */
  readonly needs: number;
  readonly send: () => void;
}

export class Outbox {
  readonly #soon: Soon;
  readonly #turnMax: number;
  #waiting: Waiting[] = [];
  /** How many of them have left. */
  #sent = 0;
  /** How many more outputs this turn of the event loop sends. */
  #left: number;
  #scheduled = false;
  /** Entries that threw and are not void in the log yet. */
  readonly #undecided = new Set<number>();
  #diskSeq = 0;
  #durableSeq = 0;

  /** `soon` calls back with the next turn of the event loop. */
  constructor(soon: Soon, turnMax: number = limits.turnAnswersMax) {
    this.#soon = soon;
    this.#turnMax = turnMax;
    this.#left = turnMax;
  }

  /** Notes an entry that is about to be applied; true where the journal has to sync for it. */
  entered(seq: number, { type, durable = false }: Classed): boolean {
    const needs = commandTraits[type].durable;
    if (needs === "asked" ? !durable : !needs) return false;
    this.#diskSeq = seq;
    return true;
  }

  /**
   * Takes `count` outputs off what this turn may send. True if the caller may send them now: nothing is held back, and
   * the turn has room for all of them. Otherwise the caller puts each of them.
   */
  claim(count: number): boolean {
    if (!this.#isClear || count > this.#left) return false;
    this.#take(count);
    return true;
  }

  /** Lets `send` happen as soon as everything applied so far is durable enough, and a turn has room for one output. */
  put(send: () => void): void {
    if (this.claim(1)) send();
    else this.#waiting.push({ needs: this.#diskSeq, send });
  }

  /** Sends at once, for a daemon that stops, whatever is durable enough. */
  flush(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#send();
  }

  durable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    this.#send();
  }

  /** Entry `seq` threw: what comes next waits for `voided`. */
  threw(seq: number): void {
    this.#undecided.add(seq);
  }

  /** The log says that entry `seq` is void. */
  voided(seq: number): void {
    if (this.#undecided.delete(seq)) this.#send();
  }

  /** Everything applied so far is durable enough. */
  get #isClear(): boolean {
    return this.#waiting.length === 0 && this.#undecided.size === 0 && this.#durableSeq >= this.#diskSeq;
  }

  /** The next output that is durable enough, or null. */
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
