import type { Entry, Proposal } from "../../daemon/core/tables/entries.ts";
import type {
  Found,
  Journal,
  JournalHealth,
  Opened,
  Pieces,
  ProposeFailure,
  Snapshot,
} from "../../daemon/journal/journal.ts";
import { Batches, closedFailure, failAll, type Soon, type Waiting } from "../../daemon/journal/journal.ts";
import { joined } from "./joined.ts";

/** What a memory journal keeps; a new journal over the same store sees it as after a crash of the process. */
export interface MemoryStore {
  readonly entries: Entry[];
  snapshot: Snapshot | null;
  epoch: number;
}

export function memoryStore(): MemoryStore {
  return { entries: [], snapshot: null, epoch: 0 };
}

/** Whether a full disk would refuse the proposal: the journal then stores the others alone. */
export type Refuses = (proposal: Proposal) => boolean;

/** What an entry takes in a file, about. */
const entryBytes = 256;

/**
 * The log in memory, with the batches and the order of events of the file journal. Durable is what was synced. A store belongs to
 * the journal that opened it last: an earlier one is as closed.
 */
export class MemoryJournal implements Journal {
  readonly #store: MemoryStore;
  readonly #soon: Soon;
  readonly #refuses: Refuses;
  readonly #batches: Batches;
  readonly #onDurable: ((seq: number) => void)[] = [];
  #epoch = 0;
  #closed = false;
  #durableSeq = 0;
  #syncing = false;
  #deliver: (batch: readonly Entry[]) => void = () => {};

  constructor(
    store: MemoryStore = memoryStore(),
    soon: Soon = task => void setImmediate(task),
    refuses: Refuses = () => false,
  ) {
    this.#store = store;
    this.#soon = soon;
    this.#refuses = refuses;
    this.#batches = new Batches(soon, batch => this.#commit(batch));
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get health(): JournalHealth {
    return { bytes: this.#store.entries.length * entryBytes, full: false };
  }

  onDurable(callback: (durableSeq: number) => void): void {
    this.#onDurable.push(callback);
  }

  /** Nothing can fail for good here. */
  onFatal(): void {}

  /** Nobody else gets at what is in memory. */
  verify(): void {}

  async loadSnapshot(): Promise<Snapshot | null> {
    return this.#store.snapshot;
  }

  async open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened> {
    if (this.#epoch !== 0) throw new Error("a journal is opened once");
    this.#store.epoch += 1;
    this.#epoch = this.#store.epoch;
    this.#deliver = deliver;
    this.#durableSeq = this.#lastSeq;
    for (const entry of this.#after(after)) found(entry, 0);
    return { epoch: this.#epoch };
  }

  propose(proposal: Proposal, failed: Waiting["failed"]): void {
    if (this.#epoch === 0) throw new Error("open the journal before proposing");
    this.#batches.add(proposal, failed);
  }

  barrier(): Promise<void> {
    return this.#batches.barrier();
  }

  sync(): void {
    if (this.#syncing || !this.#isOpen) return;
    this.#syncing = true;
    this.#soon(() => {
      this.#syncing = false;
      this.#rise();
    });
  }

  async saveSnapshot(seq: number, pieces: Pieces): Promise<void> {
    if (!this.#isOpen) throw new Error("the journal is not open: no snapshot was stored");
    const bytes = await joined(pieces);
    if (!this.#isOpen) throw new Error("the journal is not open: no snapshot was stored");
    if (seq > this.#lastSeq) throw new Error(`entry ${seq} was not delivered yet`);
    this.#rise();
    this.#store.snapshot = { seq, bytes };
    const covered = this.#store.entries.findIndex(entry => entry.seq > seq);
    this.#store.entries.splice(0, covered === -1 ? this.#store.entries.length : covered);
  }

  async read(after: number, found: Found): Promise<void> {
    for (const entry of this.#after(after)) found(entry, 0);
  }

  async close(): Promise<void> {
    this.#rise();
    this.#closed = true;
    this.#batches.flush();
  }

  get #isOpen(): boolean {
    return !this.#closed && this.#epoch !== 0 && this.#epoch === this.#store.epoch;
  }

  get #lastSeq(): number {
    return this.#store.entries.at(-1)?.seq ?? this.#store.snapshot?.seq ?? 0;
  }

  #after(after: number): readonly Entry[] {
    return this.#store.entries.filter(entry => entry.seq > after);
  }

  #commit(batch: readonly Waiting[]): readonly Waiting[] {
    if (!this.#isOpen) {
      failAll(batch, closedFailure);
      return [];
    }
    const taken: Proposal[] = [];
    for (const { proposal, failed } of batch) {
      if (this.#refuses(proposal)) failed(proposal, fullFailure);
      else taken.push(proposal);
    }
    if (taken.length === 0) return [];
    const next = this.#lastSeq + 1;
    const entries = taken.map(
      ({ origin, at, command }, i): Entry => ({ seq: next + i, at, origin, command }),
    );
    this.#store.entries.push(...entries);
    this.#deliver(entries);
    return [];
  }

  #rise(): void {
    if (!this.#isOpen || this.#durableSeq === this.#lastSeq) return;
    this.#durableSeq = this.#lastSeq;
    for (const callback of this.#onDurable) callback(this.#durableSeq);
  }
}

const fullFailure: ProposeFailure = {
  code: "store_full",
  message: "the journal has no space; try again later",
  outcome: "not_stored",
};
