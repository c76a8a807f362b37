/** Rebuilds the state from a snapshot and the log entries after it. */

import { createHash } from "node:crypto";
import { limits } from "../../protocol/limits.ts";
import { apply, applyUnheard, replicatedCommands, retiredCommands, skip } from "../core/apply.ts";
import { copyOf, emptyState, linesOf as linesOfState, readState, SnapshotUnfit } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import { firstRulesLevel, rulesKnown } from "../core/tables/base-state.ts";
import type { Entry, Step } from "../core/tables/entries.ts";
import type { Journal, Snapshot, Soon } from "../journal/journal.ts";

/** The latest items of a sequence. Invariant: holds the last `most` added, fewer if there were not as many. */
export class Latest<Item> {
  readonly #most: number;
  #items: Item[] = [];
  /** Where the oldest one is, once the list is full. */
  #oldest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#items.length;
  }

  clear(): void {
    this.#items = [];
    this.#oldest = 0;
  }

  /** Adds an item, and returns the one that no longer is among the latest. */
  add(item: Item): Item | undefined {
    if (this.#items.length < this.#most) {
      this.#items.push(item);
      return undefined;
    }
    const gone = this.#items[this.#oldest];
    this.#items[this.#oldest] = item;
    this.#oldest = (this.#oldest + 1) % this.#most;
    return gone;
  }

  /** The items, oldest first. */
  get inOrder(): readonly Item[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)];
  }
}

/** The journal uses rules that this program does not know. */
export class RulesUnknown extends Error {
  override readonly name = "RulesUnknown";
}

export interface Recovered {
  readonly state: State;
  /** Entries that threw and that the log has not voided yet. */
  readonly threw: readonly number[];
  /** Entries that the log has voided. */
  readonly voided: readonly number[];
  /** How many entries after the snapshot are of retired commands. */
  readonly retired: number;
}

/** Returns the SHA-256 of the state's snapshot text, in hexadecimal; equal states have equal hashes. */
export function stateHash(state: State): string {
  const hash = createHash("sha256");
  let isFirst = true;
  for (const line of linesOfState(copyOf(state))) {
    hash.update(isFirst ? line : `\n${line}`);
    isFirst = false;
  }
  return hash.digest("hex");
}

/** Sees a step of the replay; `epoch` is that of the state after it. */
export type OnStep = (entry: Entry, step: Step, epoch: number) => void;

/**
 * Replays the log after a snapshot, entry by entry as it is read. An entry that the log voids later, or that throws, may not
 * count. That shows only while the log is being read, so the replay then has to begin again. Invariant: a pass that need not
 * begin again skipped every entry that is void.
 */
export class Replay {
  readonly #snapshot: Snapshot | null;
  readonly #skipped: Set<number>;
  readonly #threw: number[] = [];
  readonly #voided = new Set<number>();
  readonly #begin: () => void;
  readonly #onStep: OnStep | null;
  /** The latest entries, which are not applied yet: only their steps are for `onStep`. */
  readonly #late = new Latest<Entry>(limits.ringEntriesMax);
  #retired = 0;
  #state: State;
  #again = false;

  /**
   * `skipped`: entries known to be void. `begin` is called before each pass; `onStep` sees its late steps, those of the
   * last `limits.ringEntriesMax` entries within the last `limits.ringBytes` of the log.
   */
  constructor(
    snapshot: Snapshot | null,
    skipped: ReadonlySet<number> = new Set(),
    {
      begin = () => {},
      onStep = null,
    }: { readonly begin?: () => void; readonly onStep?: OnStep | null } = {},
  ) {
    this.#snapshot = snapshot;
    this.#skipped = new Set(skipped);
    this.#begin = begin;
    this.#onStep = onStep;
    this.#state = this.#read();
  }

  /** The entry that the next pass begins after. */
  get after(): number {
    return this.#snapshot?.seq ?? 0;
  }

  /** Takes the next entry of the log; `behindBytes` of the log follow it. Throws `RulesUnknown`. */
  readonly add = (entry: Entry, behindBytes: number): void => {
    const { command } = entry;
    if (replicatedCommands.has(command.type)) throw replicated(`its entry ${entry.seq} is ${command.type}`);
    if (command.type === "void") this.#note(command.seq);
    // Later entries can only tell what else is void.
    if (this.#again) return;
    if (command.type === "rules" && !this.#skipped.has(entry.seq)) checkRules(command.level);
    const isLate = this.#late.size > 0 || behindBytes <= limits.ringBytes;
    const next = this.#onStep !== null && isLate ? this.#late.add(entry) : entry;
    if (next !== undefined) this.#apply(next, null);
  };

  /** Ends the pass. Returns whether the whole log has to be added once more; begins that pass. */
  mustRepeat(): boolean {
    for (const entry of this.#late.inOrder) if (!this.#again) this.#apply(entry, this.#onStep);
    this.#late.clear();
    if (!this.#again) return false;
    this.#again = false;
    this.#state = this.#read();
    return true;
  }

  /** What a pass that need not be repeated came to. */
  get recovered(): Recovered {
    const threw = this.#threw.filter(seq => !this.#voided.has(seq));
    this.#state.locks.heldPaths.makeOrder();
    return { state: this.#state, threw, voided: [...this.#voided], retired: this.#retired };
  }

  #read(): State {
    this.#begin();
    this.#retired = 0;
    const state = stateBefore(this.#snapshot);
    // Few locks of a log remain at its end.
    state.locks.heldPaths.postponeOrder();
    return state;
  }

  #note(seq: number): void {
    this.#voided.add(seq);
    if (seq <= this.after || this.#skipped.has(seq)) return;
    this.#skipped.add(seq);
    this.#again = true;
    // An entry after it may have thrown only because the void one was applied.
    for (const late of this.#threw.filter(one => one > seq)) {
      if (!this.#voided.has(late)) this.#skipped.delete(late);
      this.#threw.splice(this.#threw.indexOf(late), 1);
    }
  }

  /** Without `onStep` nobody gets the step: to make each would cost more than the rest of the replay. */
  #apply(entry: Entry, onStep: OnStep | null): void {
    const [state, voided] = [this.#state, this.#skipped];
    if (voided.has(entry.seq)) {
      skip(state, entry);
      return;
    }
    let step: Step;
    try {
      if (onStep === null && applyUnheard(state, entry)) return;
      step = apply(state, entry);
    } catch {
      // A known bug: the caller gets the entry's number and proposes to void it.
      this.#skipped.add(entry.seq);
      this.#threw.push(entry.seq);
      this.#again = true;
      return;
    }
    if (retiredCommands.has(entry.command.type)) this.#retired += 1;
    onStep?.(entry, step, state.epoch);
  }
}

/** Returns the state after a snapshot and the entries after it, with voided entries and those that throw left out. */
export function rebuild(
  snapshot: Snapshot | null,
  entries: readonly Entry[],
  skipped: ReadonlySet<number> = new Set(),
): Recovered {
  const replay = new Replay(snapshot, skipped);
  do for (const entry of entries) replay.add(entry, 0);
  while (replay.mustRepeat());
  return replay.recovered;
}

/** Returns the state that a replay begins with; null: there is no snapshot. Throws `RulesUnknown`. */
export function stateBefore(snapshot: Snapshot | null): State {
  try {
    const state = snapshot === null ? emptyState(firstRulesLevel) : readState(linesOf(snapshot.bytes));
    checkRules(state.rules);
    return state;
  } catch (error) {
    throw error instanceof SnapshotUnfit ? replicated(`in its snapshot, ${error.message}`) : error;
  }
}

/** A journal of a Kite that shared projects by a log which its machines had in common. */
function replicated(what: string): RulesUnknown {
  return new RulesUnknown(
    `the journal is of a Kite that shared projects in another way (${what}), and this program cannot read it: leave the store and export your tasks with that Kite, or move the journal away to begin with an empty one`,
  );
}

/** Yields the lines of a snapshot. */
export function* linesOf(bytes: Buffer): Generator<string, void> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    yield bytes.toString("utf8", start, end);
    start = end + 1;
  }
}

/** Throws `RulesUnknown` if this program does not know the level. */
export function checkRules(level: number): void {
  if (rulesKnown.includes(level)) return;
  throw new RulesUnknown(
    `the journal follows rules ${level}, this program knows ${rulesKnown.join(", ")}: start a newer Kite`,
  );
}

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
   * Whether to take a snapshot before the journal closes. The state has entries after the last one, the disk has room for
   * another, and writing it does not hold up the stop. Without it, the next start reads those entries.
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
   * Stores a snapshot of the state as it is now. With `atOnce`, at a start and a stop, it does not pause for other work.
   * Without it, a snapshot that was given up resolves, too.
   */
  async take(state: State, atOnce = false): Promise<void> {
    this.#saving = true;
    this.#triedSeq = state.seq;
    const images = state.preimages.begin();
    const written = { bytes: 0 };
    try {
      const { seq } = state;
      const lines = linesOfState(copyOf(state, images));
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
