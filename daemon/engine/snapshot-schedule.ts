import { limits } from "../../protocol/limits.ts";
import { copyOf, linesOf } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Soon } from "../journal/batches.ts";
import type { Journal, Snapshot } from "../journal/journal.ts";

/**
 * When a snapshot is taken: after so many entries, and for a large state less often, since each costs its size. One
 * that failed is tried again as late as if it had not. The state is copied at once, and written down line by line, with
 * whatever else there is to do in between.
 */
export class Snapshots {
  readonly #journal: Journal;
  readonly #soon: Soon;
  readonly #entries: number;
  #seq = 0;
  #bytes = 0;
  #triedSeq = 0;
  #saving = false;

  /** `entries`: how many lie between two snapshots at the least. */
  constructor(journal: Journal, soon: Soon, entries: number = limits.snapshotEntries) {
    this.#journal = journal;
    this.#soon = soon;
    this.#entries = entries;
  }

  /** The one the state was recovered from. */
  found(snapshot: Snapshot | null): void {
    this.#seq = snapshot?.seq ?? 0;
    this.#bytes = snapshot?.bytes.length ?? 0;
  }

  /** Whether now is the time; on a full disk what is left is for what frees. */
  isDue({ seq }: State): boolean {
    if (this.#saving || seq - Math.max(this.#seq, this.#triedSeq) < this.#entries) return false;
    const { bytes, full } = this.#journal.health;
    return !full && bytes >= 2 * this.#bytes;
  }

  /** Whether the state has gone on since the last one, and the disk has room for another. */
  isBehind({ seq }: State): boolean {
    return seq > this.#seq && !this.#journal.health.full;
  }

  /** Takes one of the state as it is now; resolves when it is stored. `last`: there is nothing else to do any more. */
  async take(state: State, last = false): Promise<void> {
    this.#saving = true;
    this.#triedSeq = state.seq;
    try {
      const { seq } = state;
      const bytes = await this.#written(linesOf(copyOf(state)), last);
      this.#seq = seq;
      this.#bytes = bytes.length;
      await this.#journal.saveSnapshot(seq, bytes);
    } finally {
      this.#saving = false;
    }
  }

  async #written(lines: Iterable<string>, last: boolean): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (const line of lines) {
      if (pieces.length > 0 && !last) await new Promise<void>(resolve => this.#soon(resolve));
      pieces.push(Buffer.from(pieces.length === 0 ? line : `\n${line}`));
    }
    return Buffer.concat(pieces);
  }
}
