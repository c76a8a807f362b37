import { limits } from "../../protocol/limits.ts";
import { copyOf, linesOf } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Soon } from "../journal/format/batches.ts";
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
  /** Ends the pause before the next line. */
  #goOn: (() => void) | null = null;

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

  /**
   * Whether a start takes a snapshot before it serves: it replayed many entries up to this state. Lives that end before
   * a snapshot is due, or written, then do not add up. It costs no more than the start: that read a state of this size.
   */
  isDueAtStart({ seq }: State): boolean {
    const many = Math.min(this.#entries, limits.startSnapshotEntries);
    return seq - this.#seq >= many && !this.#journal.health.full;
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
    // The journal's end waits for what it stores.
    this.#goOn?.();
  }

  /**
   * Stores a snapshot of the state as it is now. With `atOnce`, at a start and a stop, it does not pause for other work;
   * without it, it resolves without one if it was given up.
   */
  async take(state: State, atOnce = false): Promise<void> {
    this.#saving = true;
    this.#triedSeq = state.seq;
    const images = state.preimages.begin();
    const written = { bytes: 0 };
    try {
      const { seq } = state;
      const lines = linesOf(copyOf(state, images));
      await this.#journal.saveSnapshot(seq, this.#pieces(lines, written, atOnce));
      this.#seq = seq;
      this.#bytes = written.bytes;
    } catch (error) {
      // The journal stores none once it closes.
      if (atOnce || !this.#isGivenUp) throw error;
    } finally {
      state.preimages.end(images);
      this.#saving = false;
    }
  }

  /** Makes a line when it is asked for: no more than one is in memory. Ends with an error if it is given up. */
  async *#pieces(
    lines: Iterable<string>,
    written: { bytes: number },
    atOnce: boolean,
  ): AsyncGenerator<Buffer, void> {
    for (const line of lines) {
      if (written.bytes > 0 && !atOnce) await this.#pause();
      if (this.#isGivenUp && !atOnce) throw new Error("the daemon stops: no snapshot was stored");
      const piece = Buffer.from(written.bytes === 0 ? line : `\n${line}`);
      written.bytes += piece.length;
      yield piece;
    }
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      this.#goOn = resolve;
      this.#soon(resolve);
    });
  }
}
