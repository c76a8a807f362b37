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
import { closedFailure, type Waiting } from "../../daemon/journal/journal.ts";
import type { Random } from "../simulation/random.ts";
import { joined } from "./joined.ts";

/** The log as it is at its servers: it outlives every node that is connected to it. */
export class RemoteLog {
  readonly entries: Entry[] = [];
  snapshot: Snapshot | null = null;
  epoch = 0;

  /** Gives a proposal its place. A simulation calls this to let other nodes write. */
  append({ origin, at, command }: Proposal): Entry {
    const entry: Entry = { seq: this.entries.length + 1, at, origin, command };
    this.entries.push(entry);
    return entry;
  }
}

/** How likely things go another way, each per tick or per proposal. */
export interface RemoteFaults {
  /** A tick commits nothing of what was proposed. */
  readonly slowCommit: number;
  /** A tick delivers nothing. */
  readonly slowDelivery: number;
  /** A tick completes no sync and no snapshot. */
  readonly slowSync: number;
  /** A proposal is refused: never stored. */
  readonly refused: number;
  /** A proposal's answer does not come in time: it fails as "unknown". */
  readonly timedOut: number;
  /** One that timed out was in truth lost; else it is delivered some ticks later. */
  readonly lost: number;
}

export const faultyRemote: RemoteFaults = {
  slowCommit: 0.3,
  slowDelivery: 0.3,
  slowSync: 0.3,
  refused: 0.02,
  timedOut: 0.02,
  lost: 0.5,
};

export const faultlessRemote: RemoteFaults = {
  slowCommit: 0,
  slowDelivery: 0,
  slowSync: 0,
  refused: 0,
  timedOut: 0,
  lost: 0,
};

interface Late {
  readonly proposal: Proposal;
  ticks: number;
}

interface Barrier {
  /** Own proposals that have to be decided: those up to this count. */
  readonly proposed: number;
  readonly resolve: () => void;
  /** Entries that have to be delivered; known once the proposals are decided. */
  until: number | null;
}

interface Saving {
  readonly snapshot: Snapshot;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A journal as a replicated log would be one, in memory and without time: nothing happens until `tick`, and what
 * happens then is drawn from the generator. Entries of other nodes come in between, delivery is late and in
 * batches of any size, proposals fail, or come after they were given up. One that was given up can overtake, or
 * be overtaken by, later ones; all others keep their order.
 */
export class RemoteLikeJournal implements Journal {
  readonly #log: RemoteLog;
  readonly #random: Random;
  readonly #faults: RemoteFaults;
  readonly #onDurable: ((seq: number) => void)[] = [];
  #phase: "new" | "open" | "closed" = "new";
  #deliver: (batch: readonly Entry[]) => void = () => {};
  #proposed = 0;
  #decided = 0;
  #sending: Waiting[] = [];
  #late: Late[] = [];
  #barriers: Barrier[] = [];
  #saving: Saving[] = [];
  #delivered = 0;
  #durableSeq = 0;
  #syncTo = 0;

  constructor(log: RemoteLog, random: Random, faults: RemoteFaults = faultyRemote) {
    this.#log = log;
    this.#random = random;
    this.#faults = faults;
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get health(): JournalHealth {
    const stored = this.#delivered - (this.#log.snapshot?.seq ?? 0);
    return { bytes: Math.max(0, stored) * 256, full: false };
  }

  /** Nothing is left for a tick to do. */
  get idle(): boolean {
    return (
      this.#phase !== "open" ||
      (this.#sending.length === 0 &&
        this.#late.length === 0 &&
        this.#barriers.length === 0 &&
        this.#saving.length === 0 &&
        this.#delivered === this.#log.entries.length &&
        this.#durableSeq >= this.#syncTo)
    );
  }

  onDurable(callback: (durableSeq: number) => void): void {
    this.#onDurable.push(callback);
  }

  /** Nothing can fail for good here. */
  onFatal(): void {}

  /** The log is in memory. */
  verify(): void {}

  async loadSnapshot(): Promise<Snapshot | null> {
    return this.#log.snapshot;
  }

  async open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened> {
    if (this.#phase !== "new") throw new Error("a journal is opened once");
    this.#phase = "open";
    this.#deliver = deliver;
    this.#log.epoch += 1;
    this.#delivered = this.#log.entries.length;
    this.#durableSeq = this.#delivered;
    for (const entry of this.#log.entries.slice(after)) found(entry, 0);
    return { epoch: this.#log.epoch };
  }

  propose(proposals: readonly Proposal[], failed: Waiting["failed"]): void {
    if (this.#phase === "new") throw new Error("open the journal before proposing");
    this.#proposed += proposals.length;
    for (const proposal of proposals) this.#sending.push({ proposal, failed, cost: 1 });
    if (this.#phase === "closed") queueMicrotask(() => this.#failSending());
  }

  sync(): void {
    this.#syncTo = Math.max(this.#syncTo, this.#delivered);
  }

  barrier(): Promise<void> {
    const isReached = this.#sending.length === 0 && this.#delivered === this.#log.entries.length;
    if (isReached || this.#phase !== "open") return Promise.resolve();
    return new Promise(resolve => this.#barriers.push({ proposed: this.#proposed, until: null, resolve }));
  }

  async saveSnapshot(seq: number, pieces: Pieces): Promise<void> {
    if (seq > this.#delivered) throw new Error(`entry ${seq} was not delivered yet`);
    const bytes = await joined(pieces);
    if (this.#phase !== "open") throw new Error("the journal is not open");
    return new Promise((resolve, reject) => this.#saving.push({ snapshot: { seq, bytes }, resolve, reject }));
  }

  async read(after: number, found: Found): Promise<void> {
    for (const entry of this.#log.entries.slice(after, this.#delivered)) found(entry, 0);
  }

  async close(): Promise<void> {
    if (this.#phase !== "open") return;
    this.#phase = "closed";
    this.#rise(this.#delivered);
    this.#failSending();
    this.#late = [];
    for (const { resolve } of this.#barriers.splice(0)) resolve();
    for (const { reject } of this.#saving.splice(0)) reject(new Error("the journal is not open"));
  }

  /** The node is gone in the middle of everything: what it had sent may have arrived or not. Its promises stay open. */
  crash(): void {
    this.#phase = "closed";
    for (const { proposal } of [...this.#late, ...this.#sending]) {
      if (!this.#random.chance(0.5)) break;
      this.#log.append(proposal);
    }
    this.#sending = [];
    this.#late = [];
    this.#barriers = [];
    this.#saving = [];
  }

  /** Lets something happen. */
  tick(): void {
    if (this.#phase !== "open") return;
    const { slowCommit, slowDelivery, slowSync } = this.#faults;
    this.#commitLate();
    if (!this.#random.chance(slowCommit)) this.#commitSome();
    if (!this.#random.chance(slowDelivery)) this.#deliverSome();
    if (!this.#random.chance(slowSync)) {
      this.#saveAll();
      this.#rise(Math.min(this.#syncTo, this.#delivered));
    }
    this.#passBarriers();
  }

  #commitSome(): void {
    if (this.#sending.length === 0) return;
    for (let left = this.#random.int(1, this.#sending.length); left > 0; left--) {
      const waiting = this.#sending.shift();
      if (waiting === undefined) return;
      this.#decided += 1;
      this.#decide(waiting);
    }
  }

  #decide({ proposal, failed }: Waiting): void {
    const { refused, timedOut, lost } = this.#faults;
    if (this.#random.chance(refused)) {
      failed(proposal, refusal);
    } else if (this.#random.chance(timedOut)) {
      const arrives = !this.#random.chance(lost);
      if (arrives) this.#late.push({ proposal, ticks: this.#random.int(0, 20) });
      failed(proposal, silence);
    } else {
      this.#log.append(proposal);
    }
  }

  #commitLate(): void {
    for (const late of this.#late) late.ticks -= 1;
    for (const { proposal, ticks } of this.#late) if (ticks < 0) this.#log.append(proposal);
    this.#late = this.#late.filter(({ ticks }) => ticks >= 0);
  }

  #deliverSome(): void {
    const left = this.#log.entries.length - this.#delivered;
    if (left === 0) return;
    const from = this.#delivered;
    this.#delivered += this.#random.int(1, left);
    this.#deliver(this.#log.entries.slice(from, this.#delivered));
  }

  #saveAll(): void {
    for (const { snapshot, resolve } of this.#saving.splice(0)) {
      this.#syncTo = Math.max(this.#syncTo, snapshot.seq);
      if (snapshot.seq >= (this.#log.snapshot?.seq ?? 0)) this.#log.snapshot = snapshot;
      resolve();
    }
  }

  #rise(durableSeq: number): void {
    if (durableSeq <= this.#durableSeq) return;
    this.#durableSeq = durableSeq;
    for (const callback of this.#onDurable) callback(durableSeq);
  }

  #passBarriers(): void {
    for (const barrier of this.#barriers) {
      if (this.#decided >= barrier.proposed) barrier.until ??= this.#log.entries.length;
    }
    const isPassed = ({ until }: Barrier) => until !== null && this.#delivered >= until;
    for (const { resolve } of this.#barriers.filter(isPassed)) resolve();
    this.#barriers = this.#barriers.filter(barrier => !isPassed(barrier));
  }

  #failSending(): void {
    for (const { proposal, failed } of this.#sending.splice(0)) failed(proposal, closedFailure);
  }
}

const refusal: ProposeFailure = {
  code: "store_full",
  message: "the log has no space; try again later",
  outcome: "not_stored",
};

const silence: ProposeFailure = {
  code: "internal_error",
  message: "the log did not answer in time; whether it stored this is not known",
  outcome: "unknown",
};
