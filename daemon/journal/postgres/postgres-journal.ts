/**
 * The log in PostgreSQL, shared by several nodes: many writers, one order.
 *
 * Invariants, besides those of `journal.ts`:
 * - An entry gets its place and its time, the store's clock at the append, under one row's lock. So there is no gap, and the
 *   time never goes back.
 * - Each statement checks that the store has the history that this node has read. Over another one nothing is appended
 *   and nothing delivered: the journal breaks, and says what to do.
 * - What is in the log is durable: the store says so before anything of it is delivered.
 * - While no store answers, nothing is delivered, proposals fail within a bound, barriers pass with what is known, and
 *   `awaySinceMs` says since when. It goes on by itself.
 */
import type { Entry, Proposal } from "../../core/tables/entries.ts";
import { Connection, type JournalAddress, storeName } from "../../store/connection.ts";
import { awayError, meaningOf } from "../../store/errors.ts";
import {
  type Found,
  type Journal,
  type JournalHealth,
  type Opened,
  type Pieces,
  type Snapshot,
  StoreLost,
} from "../journal.ts";
import { Appends } from "./appends.ts";
import { type StoreBounds, storeBounds } from "./bounds.ts";
import { Delivery } from "./delivery.ts";
import { Link, Reach } from "./link.ts";
import { EntriesPruned, NodeTwice, type Position, StoreLog, StoreWentBack, type Writer } from "./log.ts";
import { prepareSchema } from "./schema.ts";
import { StoreSnapshots } from "./snapshots.ts";

/** The program of the journal is one file, which has this, too. */
export { lookAtStore } from "./look.ts";

export interface PostgresJournalOptions {
  readonly address: JournalAddress;
  /** This node's id, which its proposals carry. No two daemons at a time have the same. */
  readonly node: string;
  /** The id of the store that this machine knows; null or absent: any. Nothing is made or entered in another one. */
  readonly storeId?: string | null;
  /**
   * A word that all starts of this node share while its machine runs, and that a copy of its disk does not have. Absent:
   * there is none.
   */
  readonly holder?: string;
  /** An epoch of this node that was used already, of which the store may not know: it may be an older copy. */
  readonly epochAfter?: number;
  /** False: read the log by time alone. Without it, a store that passes no notifications does so too, by itself. */
  readonly listens?: boolean;
  readonly bounds?: Partial<StoreBounds>;
}

interface Parts {
  readonly writer: Writer;
  readonly appends: Appends;
  readonly delivery: Delivery;
}

export class PostgresJournal implements Journal {
  readonly #options: PostgresJournalOptions;
  readonly #bounds: StoreBounds;
  readonly #where: string;
  readonly #log: StoreLog;
  readonly #snapshots: StoreSnapshots;
  readonly #reach = new Reach();
  readonly #writing: Link;
  readonly #reading: Link;
  readonly #onDurable: ((seq: number) => void)[] = [];
  readonly #onFatal: ((error: Error) => void)[] = [];
  #phase: "new" | "opening" | "open" | "broken" | "closed" = "new";
  #parts: Parts | null = null;
  #storeId: string | null = null;
  #fatal: Error | null = null;
  #durableSeq = 0;
  /** The last one that `onDurable` was told of. */
  #toldSeq = 0;
  #bytes = 0;
  #renewedMs = 0;
  #deliver: (batch: readonly Entry[]) => void = () => {};
  #saving: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: PostgresJournalOptions) {
    this.#options = options;
    this.#bounds = { ...storeBounds, ...options.bounds };
    const { schema } = options.address;
    this.#where = storeName(options.address);
    this.#log = new StoreLog(schema, this.#where, this.#bounds);
    this.#snapshots = new StoreSnapshots(schema, this.#bounds);
    const { retryMinMs, retryMaxMs } = this.#bounds;
    const parts = { reach: this.#reach, retryMinMs, retryMaxMs };
    this.#writing = new Link({ ...parts, open: () => this.#connect(), onFailed: () => {} });
    this.#reading = new Link({
      ...parts,
      open: () => this.#connectReader(),
      onFailed: () => this.#parts?.delivery.failed(),
    });
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get health(): JournalHealth {
    return { bytes: this.#bytes, full: this.#parts?.appends.isFull ?? false };
  }

  /** Wall time since which the store does not answer, in milliseconds; null: it does. */
  get awaySinceMs(): number | null {
    return this.#reach.awaySinceMs;
  }

  /** Why it did not answer last. */
  get awayWhy(): string {
    return this.#reach.reason;
  }

  /** The store's id, made with its tables; null before the store was first reached. */
  get storeId(): string | null {
    return this.#storeId;
  }

  /** Nothing waits for the store. */
  get isIdle(): boolean {
    return this.#parts?.appends.isIdle ?? true;
  }

  onDurable(callback: (durableSeq: number) => void): void {
    this.#onDurable.push(callback);
  }

  onFatal(callback: (error: Error) => void): void {
    this.#onFatal.push(callback);
    if (this.#fatal !== null) callback(this.#fatal);
  }

  onReach(callback: () => void): void {
    this.#reach.onChange = callback;
  }

  /** Rejects with `StoreAway`, `StoreUnfit` or `StoreTooNew`. */
  loadSnapshot(): Promise<Snapshot | null> {
    return this.#apart(connection => this.#snapshots.load(connection));
  }

  /**
   * Rejects with `StoreAway`, `StoreUnfit`, `StoreTooNew`, `NodeHeld`: another daemon of the node lives, or `StoreWentBack`: the
   * log has no entry `after`.
   */
  async open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened> {
    if (this.#phase !== "new") throw new Error("a journal is opened once");
    this.#phase = "opening";
    this.#deliver = deliver;
    const { node, holder = "", epochAfter = 0 } = this.#options;
    return this.#apart(async (connection, storeId) => {
      const from = await this.#readTo(connection, after, null, (entry, behindBytes, bytes) => {
        this.#bytes += bytes;
        found(entry, behindBytes);
      });
      const epoch = await this.#log.claimEpoch(connection, { node, holder }, epochAfter, from.seq);
      [this.#durableSeq, this.#toldSeq] = [from.seq, from.seq];
      this.#begin({ node, epoch, storeId }, from);
      return { epoch };
    });
  }

  #begin(writer: Writer, from: Position): void {
    const bounds = this.#bounds;
    const delivery = new Delivery({
      log: this.#log,
      link: this.#reading,
      reach: this.#reach,
      bounds,
      from,
      take: (entries, bytes) => this.#take(entries, bytes),
      between: connection => this.#renew(connection),
      onError: error => this.#noteError(error),
    });
    const appends = new Appends({
      log: this.#log,
      link: this.#writing,
      reach: this.#reach,
      bounds,
      writer,
      position: () => delivery.position,
      stored: stored => {
        if (!delivery.takeAppended(stored)) delivery.wake();
      },
      wake: () => delivery.wake(),
      onFatal: error => this.#break(error),
    });
    this.#parts = { writer, appends, delivery };
    if (this.#phase !== "opening") {
      // It was closed meanwhile.
      void appends.close();
      return;
    }
    this.#phase = "open";
    this.#renewedMs = performance.now();
    delivery.start();
    // The connection is there when the first proposal comes.
    void this.#writing.connection().catch(() => {});
  }

  verify(): void {
    this.#parts?.delivery.wake();
  }

  propose(proposals: readonly Proposal[], failed: Parameters<Journal["propose"]>[1], cost = 1): void {
    if (this.#parts === null) throw new Error("open the journal before proposing");
    this.#parts.appends.add(proposals, failed, cost);
  }

  async barrier(): Promise<void> {
    if (this.#phase !== "open" || this.#parts === null) return;
    const { appends, delivery } = this.#parts;
    await Promise.all([appends.decided(), delivery.upToDate()]);
  }

  /** What is delivered is durable: the store said so. Tells those who asked to hear of it after it was delivered. */
  sync(): void {
    setImmediate(() => this.#tellDurable());
  }

  /** Stores one snapshot at a time. Resolves without one if another node's is as good, or is being written. */
  saveSnapshot(seq: number, pieces: Pieces): Promise<void> {
    const saved = this.#saving.then(() => this.#save(seq, pieces));
    // The caller handles a failure; the next snapshot proceeds.
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async read(after: number, found: Found): Promise<void> {
    const until = this.#parts?.delivery.position.seq ?? 0;
    if (after >= until) return;
    await this.#apart(connection => this.#readTo(connection, after, until, found));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #connect(): Promise<Connection> {
    return Connection.open(this.#options.address, this.#bounds.connectMs, this.#bounds.statementMs);
  }

  async #connectReader(): Promise<Connection> {
    const connection = await this.#connect();
    const { listens = true, node } = this.#options;
    if (listens) {
      const onNotification = (text: string) => {
        const [seq, ...by] = text.split(" ");
        this.#parts?.delivery.noteNotification(Number(seq), by.join(" ") === node);
      };
      try {
        await connection.listen(this.#log.channel, onNotification);
      } catch (error) {
        // A server, or what stands before it, that passes no notifications: the log is read by time alone.
        if (connection.isLost || meaningOf(error) === "unsure") throw error;
      }
    }
    return connection;
  }

  /** Runs `work` on a connection of its own, over tables that are there. */
  async #apart<Result>(work: (connection: Connection, storeId: string) => Promise<Result>): Promise<Result> {
    let connection: Connection | null = null;
    try {
      connection = await this.#connect();
      const known = this.#storeId ?? this.#options.storeId ?? null;
      const isNew = known === null;
      const { id = null } =
        (await prepareSchema(connection, this.#options.address.schema, this.#where, { isNew })) ?? {};
      if (id === null) throw this.#log.lost();
      if (id !== (known ?? id)) throw this.#log.lost("other");
      this.#storeId = id;
      const { node, holder = "" } = this.#options;
      // Before all is read: whoever waits for a node that another machine has tries again and again.
      if (this.#parts === null) await this.#log.mayBegin(connection, { node, holder });
      return await work(connection, id);
    } catch (error) {
      const isOfStore = connection === null || connection.isLost || meaningOf(error) !== "unsure";
      throw isOfStore ? awayError(error, this.#where) : error;
    } finally {
      await connection?.end();
    }
  }

  /** Hands the entries after `after` to `found`, a page at a time; the next one is on its way meanwhile. */
  async #readTo(
    connection: Connection,
    after: number,
    until: number | null,
    found: (entry: Entry, behindBytes: number, bytes: number) => void,
  ): Promise<Position> {
    let position: Position = { seq: after, mark: null };
    let [bytes, count] = [0, 0];
    const end = until ?? (await this.#log.lastSeq(connection));
    for (let page = await this.#log.page(connection, position, until); ; ) {
      const last = page.stored.at(-1);
      if (last === undefined) return page.from;
      position = { seq: last.entry.seq, mark: last.mark };
      const next = page.isFull ? this.#log.page(connection, position, until) : null;
      // It is awaited below, unless what takes the entries throws.
      next?.catch(() => {});
      for (const { entry, bytes: length } of page.stored) {
        bytes += length;
        count += 1;
        found(entry, Math.max(0, end - entry.seq) * (bytes / count), length);
      }
      if (next === null) return position;
      page = await next;
    }
  }

  #take(entries: readonly Entry[], bytes: number): void {
    const { appends } = this.#parts ?? {};
    this.#bytes += bytes;
    for (const entry of entries) appends?.delivered(entry);
    this.#durableSeq = entries.at(-1)?.seq ?? this.#durableSeq;
    try {
      // First, so that what these entries let out need not wait.
      this.#tellDurable();
      this.#deliver(entries);
    } catch (error) {
      // A bug of those who take them: to read on would skip what was thrown at.
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
    appends?.settle();
  }

  #tellDurable(): void {
    if (this.#onDurable.length === 0 || this.#toldSeq === this.#durableSeq) return;
    this.#toldSeq = this.#durableSeq;
    for (const callback of this.#onDurable) callback(this.#toldSeq);
  }

  async #renew(connection: Connection): Promise<void> {
    const { writer, delivery } = this.#parts ?? {};
    const now = performance.now();
    if (writer === undefined || delivery === undefined || now - this.#renewedMs < this.#bounds.renewMs)
      return;
    await this.#log.renew(connection, writer, delivery.position);
    this.#renewedMs = now;
  }

  /** An error between reads: one that only a new start resolves breaks the journal, all others are tried again. */
  #noteError(error: unknown): void {
    if (this.#phase !== "open") return;
    const isLasting =
      error instanceof StoreWentBack ||
      error instanceof EntriesPruned ||
      error instanceof NodeTwice ||
      error instanceof StoreLost;
    if (isLasting) this.#break(error);
    else if (meaningOf(error) === "gone") this.#break(this.#log.lost());
    else this.#reach.failed(error);
  }

  async #save(seq: number, pieces: Pieces): Promise<void> {
    const { writer, delivery } = this.#parts ?? {};
    const isOpen = () => this.#phase === "open";
    if (!isOpen() || writer === undefined || delivery === undefined)
      throw new Error(`the journal is ${this.#phase}: no snapshot was stored`);
    if (seq > delivery.position.seq) throw new Error(`entry ${seq} was not delivered yet`);
    const covered = this.#bytes;
    await this.#apart(async connection => {
      // The log keeps the entries that this node has not read; it has read up to here.
      await this.#log.renew(connection, writer, delivery.position);
      await this.#snapshots.save(connection, writer, seq, pieces, () => delivery.position, isOpen);
    });
    this.#bytes -= covered;
  }

  #break(error: Error): void {
    if (this.#fatal !== null) return;
    this.#fatal = error;
    if (this.#phase === "open") this.#phase = "broken";
    this.#parts?.appends.broken(error);
    this.#writing.stop();
    this.#reading.stop();
    void this.#parts?.delivery.close();
    for (const callback of this.#onFatal) callback(error);
  }

  async #close(): Promise<void> {
    this.#phase = "closed";
    this.#writing.stop();
    this.#reading.stop();
    const { appends, delivery } = this.#parts ?? {};
    await Promise.all([appends?.close(), delivery?.close()]);
    await this.#saving;
    await Promise.all([this.#writing.close(), this.#reading.close()]);
  }
}
