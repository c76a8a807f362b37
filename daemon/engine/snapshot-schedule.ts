import { limits } from "../../protocol/limits.ts";
import { copyOf, linesOf } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Soon } from "../journal/batches.ts";
import type { Journal, Snapshot } from "../journal/journal.ts";

/**
 * Decides when to take a snapshot: after `entries` entries, and less often for a large state, since a snapshot costs
 * its size. A failed snapshot is retried only after as many entries. The state is written line by line, with other work
 * in between: rows that change meanwhile are written as they were.
 */
export class Snapshots {
  readonly #journal: Journal;
  readonly #soon: Soon;
  readonly #entries: number;
  #seq = 0;
  #bytes = 0;
  #triedSeq = 0;
  #saving = false;
  #isGivenUp = false;

  /** `entries`: the minimum number between two snapshots. */
  constructor(journal: Journal, soon: Soon, entries: number = limits.snapshotEntries) {
    this.#journal = journal;
    this.#soon = soon;
    this.#entries = entries;
  }

  /** Notes the snapshot that the state was recovered from. */
  found(snapshot: Snapshot | null): void {
    this.#seq = snapshot?.seq ?? 0;
    this.#bytes = snapshot?.bytes.length ?? 0;
  }

  /** Whether to take a snapshot now. A full disk keeps its remaining space for entries that free some. */
  isDue({ seq }: State): boolean {
    if (this.#saving || seq - Math.max(this.#seq, this.#triedSeq) < this.#entries) return false;
    const { bytes, full } = this.#journal.health;
    return !full && bytes >= 2 * this.#bytes;
  }

  /**
   * Whether to take a snapshot before the journal closes: the state has entries after the last one, the disk has room for
   * another, and to write it does not hold up the stop. The next start reads those entries otherwise.
   */
  isDueAtStop({ seq }: State): boolean {
    const { bytes, full } = this.#journal.health;
    return seq > this.#seq && !full && this.#bytes + bytes <= limits.stopSnapshotBytes;
  }

  /** Before a stop: gives up a snapshot under way. The next start reads from the journal what it would have held. */
  giveUp(): void {
    this.#isGivenUp = true;
  }

  /**
   * Stores a snapshot of the state as it is now. With `last` it does not pause for other work; without it, it resolves
   * without one if it was given up.
   */
  async take(state: State, last = false): Promise<void> {
    this.#saving = true;
    this.#triedSeq = state.seq;
    const images = state.preimages.begin();
    try {
      const { seq } = state;
      const pieces = await this.#written(linesOf(copyOf(state, images)), last);
      state.preimages.end(images);
      if (pieces === null) return;
      this.#seq = seq;
      this.#bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      await this.#journal.saveSnapshot(seq, pieces);
    } catch (error) {
      // The journal stores none once it closes.
      if (last || !this.#isGivenUp) throw error;
    } finally {
      state.preimages.end(images);
      this.#saving = false;
    }
  }

  /** Returns the lines; null: given up. */
  async #written(lines: Iterable<string>, last: boolean): Promise<readonly Buffer[] | null> {
    const pieces: Buffer[] = [];
    for (const line of lines) {
      if (pieces.length > 0 && !last) await new Promise<void>(resolve => this.#soon(resolve));
      if (this.#isGivenUp && !last) return null;
      pieces.push(Buffer.from(pieces.length === 0 ? line : `\n${line}`));
    }
    return pieces;
  }
}
