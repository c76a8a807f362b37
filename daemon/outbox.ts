/**
 * Holds outputs back until their entry is as durable as it has to be, in the order of the log.
 *
 * An output of entry n leaves when `durableSeq` has reached the last entry of the disk class at or before n.
 * Sessions and locks are of the process class: written, not synced, since a power cut ends their holders too.
 */
import type { CommandType } from "./core/entry.ts";

/** Commands whose effects must survive a power cut before anybody hears of them. */
const diskClass: ReadonlySet<CommandType> = new Set<CommandType>(["daemon_started", "rules"]);

export class Outbox {
  readonly #waiting: { readonly needs: number; readonly send: () => void }[] = [];
  #diskSeq = 0;
  #durableSeq = 0;

  /** Notes an entry that is about to be applied; true where the journal has to sync for it. */
  entered(seq: number, type: CommandType): boolean {
    if (!diskClass.has(type)) return false;
    this.#diskSeq = seq;
    return true;
  }

  /** Lets `send` happen as soon as everything applied so far is durable enough. */
  put(send: () => void): void {
    if (this.#waiting.length === 0 && this.#durableSeq >= this.#diskSeq) send();
    else this.#waiting.push({ needs: this.#diskSeq, send });
  }

  durable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    let count = 0;
    for (const { needs } of this.#waiting) {
      if (needs > this.#durableSeq) break;
      count += 1;
    }
    for (const { send } of this.#waiting.splice(0, count)) send();
  }
}
