/**
 * Holds outputs back until their entry is as durable as it has to be, in the order of the log.
 *
 * An output of entry n leaves when `durableSeq` has reached the last entry of the disk class at or before n.
 * Sessions and locks are of the process class: written, not synced, since a power cut ends their holders too.
 * Nothing leaves behind an entry that threw before the log says that it is void: until then a new start could find
 * that it counts.
 */
import type { Command, CommandType } from "./core/entry.ts";

/** Commands whose effects must survive a power cut before anybody hears of them. */
const diskClass: ReadonlySet<CommandType> = new Set<CommandType>([
  "daemon_started",
  "rules",
  "task_create",
  "task_import",
  "task_update",
  "task_claim",
  "task_release",
  "task_remove",
  "context_delete",
  "message_send",
  "message_ack",
  "broadcast",
]);

/** What tells the class of a command: its type, and for context whether the value is to last. */
type Classed = Pick<Command, "type"> & { readonly durable?: boolean };

export class Outbox {
  #waiting: { readonly needs: number; readonly send: () => void }[] = [];
  /** Entries that threw and are not void in the log yet. */
  readonly #undecided = new Set<number>();
  #diskSeq = 0;
  #durableSeq = 0;

  /** Notes an entry that is about to be applied; true where the journal has to sync for it. */
  entered(seq: number, { type, durable = false }: Classed): boolean {
    if (!diskClass.has(type) && !durable) return false;
    this.#diskSeq = seq;
    return true;
  }

  /** Nothing is held back: everything applied so far is durable enough. */
  get isClear(): boolean {
    return this.#waiting.length === 0 && this.#undecided.size === 0 && this.#durableSeq >= this.#diskSeq;
  }

  /** Lets `send` happen as soon as everything applied so far is durable enough. */
  put(send: () => void): void {
    if (this.isClear) send();
    else this.#waiting.push({ needs: this.#diskSeq, send });
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

  #send(): void {
    if (this.#undecided.size > 0) return;
    const held = this.#waiting.findIndex(({ needs }) => needs > this.#durableSeq);
    const ready = this.#waiting.splice(0, held === -1 ? this.#waiting.length : held);
    for (const { send } of ready) send();
  }
}
