/**
 * Delivers the entries of the log, in order: what an append brought back if nothing is missing before it, all else as it
 * is read.
 *
 * Invariants: `position` is the last delivered entry. Entries are delivered without a gap and once. One turn of the event
 * loop delivers `turnEntriesMax` of them, and after `close` none. Reading alone finds every entry: a notification makes the
 * next read earlier, no more.
 */
import { limits } from "../../../protocol/limits.ts";
import type { Entry } from "../../core/tables/entries.ts";
import type { Connection } from "../../store/connection.ts";
import type { StoreBounds } from "./bounds.ts";
import type { Link, Reach } from "./link.ts";
import type { Position, Stored, StoreLog } from "./log.ts";

export interface DeliveryOptions {
  readonly log: StoreLog;
  readonly link: Link;
  readonly reach: Reach;
  readonly bounds: StoreBounds;
  readonly from: Position;
  /** Gets the next entries. */
  readonly take: (entries: readonly Entry[], bytes: number) => void;
  /** Called between reads, on the connection that reads: other work of the journal in the background. */
  readonly between: (connection: Connection) => Promise<void>;
  /** A read failed, or what is done between reads. */
  readonly onError: (error: unknown) => void;
}

export class Delivery {
  readonly #options: DeliveryOptions;
  #position: Position;
  #closed = false;
  /** Ends the wait for the next read. */
  #wake: () => void = () => {};
  #isWoken = false;
  #pollMs: number;
  /** Whether notifications arrived on this connection, and none was missed. */
  #hears = false;
  /** The last entry that a notification told of, when the last read began, and what waits for the next one to be due. */
  #heardSeq = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #newsTimer: NodeJS.Timeout | null = null;
  /** Callers that wait for the end of a read that has not begun, and of the one that runs. */
  #waiters: (() => void)[] = [];
  #readers: (() => void)[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#position = options.from;
    this.#pollMs = options.bounds.pollMinMs;
  }

  /** The last delivered entry. */
  get position(): Position {
    return this.#position;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Reads again soon: there may be more. */
  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /**
   * A notification says that the log has come to entry `seq`. `isOwn`: by an append of this node, which delivers it. While other
   * nodes append one entry after the other, nodes that wait for none of them read several at once: `newsPauseMs`.
   */
  noteNotification(seq: number, isOwn: boolean): void {
    this.#hears = true;
    if (isOwn || seq <= this.#position.seq) return;
    this.#heardSeq = Math.max(this.#heardSeq, seq);
    const restMs = this.#readAtMs + this.#options.bounds.newsPauseMs - performance.now();
    if (restMs <= 0) this.wake();
    else this.#newsTimer ??= setTimeout(() => this.#lookForNews(), restMs).unref();
  }

  #lookForNews(): void {
    this.#newsTimer = null;
    if (this.#hasNews && !this.#closed) this.wake();
  }

  /** Whether a notification told of entries that were not delivered yet. */
  get #hasNews(): boolean {
    return this.#heardSeq > this.#position.seq;
  }

  /** Resolves when all that is in the log now has been delivered, or the store has been away for `barrierMs`. */
  upToDate(): Promise<void> {
    if (this.#closed || this.#isAway) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiters.push(resolve);
      this.wake();
    });
  }

  /** A try to connect failed: after `barrierMs` of that, what is known has to do for those who wait. */
  failed(): void {
    this.#hears = false;
    if (this.#isAway) this.#release();
  }

  get #isAway(): boolean {
    const { awayForMs } = this.#options.reach;
    return awayForMs !== null && awayForMs >= this.#options.bounds.barrierMs;
  }

  #release(): void {
    for (const resolve of [...this.#readers.splice(0), ...this.#waiters.splice(0)]) resolve();
  }

  /** Delivers entries that begin right after the position, unless others are being delivered; false: they must be read. */
  takeAppended(stored: readonly Stored[]): boolean {
    if (this.#closed || stored[0]?.entry.seq !== this.#position.seq + 1) return false;
    if (stored.length > limits.turnEntriesMax) return false;
    this.#deliver(stored);
    return true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#newsTimer !== null) clearTimeout(this.#newsTimer);
    this.#release();
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      const wasWoken = await this.#pause();
      if (this.#closed) return;
      const [heardSeq, isTold] = [this.#heardSeq, wasWoken || this.#hasNews];
      this.#readAtMs = performance.now();
      // Callers that ask from here on wait for the next read.
      this.#readers = this.#waiters.splice(0);
      try {
        const connection = await this.#options.link.connection();
        const count = await this.#readAll(connection);
        this.#options.reach.answered();
        // All that had been told of by then is read, or was lost with what the store lacks.
        if (this.#heardSeq === heardSeq) this.#heardSeq = 0;
        // A notification should have told of these.
        if (count > 0 && !isTold) this.#hears = false;
        this.#setPace(count);
        for (const resolve of this.#readers.splice(0)) resolve();
        await this.#options.between(connection);
      } catch (error) {
        this.#options.onError(error);
        // They wait for the next read.
        this.#waiters.unshift(...this.#readers.splice(0));
        if (this.#closed || this.#isAway) this.#release();
        this.#isWoken ||= this.#waiters.length > 0 || this.#hasNews;
        await this.#rest();
      }
    }
  }

  /** Reads and delivers until a page is not full; returns the number of entries. */
  async #readAll(connection: Connection): Promise<number> {
    const { log } = this.#options;
    for (let count = 0; ; ) {
      const { stored, isFull } = await log.page(connection, this.#position);
      count += stored.length;
      await this.#takeRead(stored);
      if (!isFull || this.#closed) return count;
    }
  }

  /** Delivers what was read, a part in each turn of the event loop. An append may have delivered some of it meanwhile. */
  async #takeRead(stored: readonly Stored[]): Promise<void> {
    for (let at = 0; at < stored.length; at += limits.turnEntriesMax) {
      if (at > 0) await new Promise(resolve => setImmediate(resolve));
      const part = stored.slice(at, at + limits.turnEntriesMax);
      const next = part.filter(({ entry }) => entry.seq > this.#position.seq);
      if (next.length > 0 && !this.#closed) this.#deliver(next);
    }
  }

  #deliver(stored: readonly Stored[]): void {
    const last = stored.at(-1);
    if (last === undefined) return;
    this.#position = { seq: last.entry.seq, mark: last.mark };
    const bytes = stored.reduce((sum, one) => sum + one.bytes, 0);
    this.#options.take(
      stored.map(({ entry }) => entry),
      bytes,
    );
  }

  /** A pause after a failure: the next read might fail at once, too. */
  async #rest(): Promise<void> {
    if (!this.#closed) await new Promise(resolve => setTimeout(resolve, this.#options.bounds.retryMinMs));
  }

  /** Sets the time to the next read: short after an entry, longer with each read that finds none. */
  #setPace(count: number): void {
    const { pollMinMs, pollMaxMs } = this.#options.bounds;
    this.#pollMs = count > 0 ? pollMinMs : Math.min(2 * this.#pollMs, pollMaxMs);
  }

  /** Waits for a reason to read; false: it was the time. */
  async #pause(): Promise<boolean> {
    if (!this.#isWoken) {
      const { heardPollMs } = this.#options.bounds;
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, this.#hears ? heardPollMs : this.#pollMs);
        timer.unref();
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const wasWoken = this.#isWoken;
    this.#isWoken = false;
    return wasWoken;
  }
}
