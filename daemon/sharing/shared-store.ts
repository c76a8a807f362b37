/**
 * The store that this machine shares with others: a second engine, over the shared log, beside the machine's own.
 *
 * Invariants: a start never waits for the store, and a stop for `limits.storeCloseMs` at most. While the store is away the
 * last copy of its state stays readable. A shared log that ends (pruned, restored) is opened anew until the daemon stops,
 * but only over the store that this machine joined. A log that another daemon of this node took is not opened anew. Its end
 * never ends the daemon.
 */
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { OutboxNumber } from "../core/nodes/commands.ts";
import type { State } from "../core/state.ts";
import type { CommandOf, Reply } from "../core/tables/entries.ts";
import { restarting } from "../engine/answers.ts";
import { clockFromZero } from "../engine/clock.ts";
import { Engine } from "../engine/engine.ts";
import type { SharedJournal } from "../journal/shared-journal.ts";
import { awayRefusal, type Condition, ConditionNotes, lastingRefusal, storeLeft } from "./condition.ts";
import { type KnownStore, StoreFile } from "./copy-file.ts";
import { Lease } from "./lease.ts";
import { LeaveRecords } from "./leave-records.ts";
import { Moving } from "./moving.ts";
import { OwnEndings } from "./own-endings.ts";
import { numberIn, Relay } from "./relay.ts";
import type { SharedStoreOptions } from "./shared-store-options.ts";
import { Telling } from "./telling.ts";
import { Unsettled } from "./unsettled.ts";
import { Waits } from "./waits.ts";
import { WentBack } from "./went-back.ts";

/** An opening of the shared log. */
interface Opening {
  readonly engine: Engine;
  readonly journal: SharedJournal;
  readonly relay: Relay;
  readonly lease: Lease;
}

export class SharedStore {
  /** This machine's own log. */
  readonly own: Engine;
  readonly node: string;
  readonly where: string;
  readonly moving = new Moving();
  readonly back = new WentBack();
  readonly records: LeaveRecords;
  readonly #options: SharedStoreOptions;
  #opening: Opening | null = null;
  /** The state of the last opening, or what an earlier daemon kept: what is known while there is none. */
  #copy: State | null = null;
  /** Since when the copy may be old, as wall time in milliseconds; null: there is no copy. */
  #copyMs: number | null = null;
  /** Why the log could not be opened, or ended; null: it is open. */
  #problem: string | null = null;
  /** Why the store does not take this node; null: it has its lease. */
  #refusal: Refusal | null = null;
  #hasLease = false;
  #machine: string | null = null;
  readonly #notes: ConditionNotes;
  /** Ends the opening that there is. */
  #endOpening: () => void = () => {};
  #endPause: () => void = () => {};
  #isClosed = false;
  /** Nothing is entered any more until the daemon's next start. */
  #isOver = false;
  #left: { readonly isTold: boolean } | null = null;
  /** Whether this daemon reached the store. */
  #hasOpened = false;
  /** The last change of what is shared. */
  #changing: Promise<unknown> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  readonly #waits: Waits;
  readonly #telling: Telling;
  /** Requests of which the outcome is not known, also of the daemon before. */
  readonly unsettled: Unsettled;
  readonly endings = new OwnEndings();
  readonly #file: StoreFile;
  /** The store that this machine joined; null: none is known. */
  #storeId: string | null;

  constructor(options: SharedStoreOptions) {
    this.#options = options;
    this.own = options.own;
    this.node = options.node;
    this.where = options.where;
    this.#waits = new Waits(options.clock);
    this.#notes = new ConditionNotes(options.onCondition);
    this.#telling = new Telling(options.clock, () => this.#tell());
    const { own, where, copyPath: path, leftPath, onTrouble } = options;
    this.records = new LeaveRecords({ path: leftPath, onTrouble });
    const hasJoined = () => own.state.outbox.projects.size > 0;
    const known = () => this.#known;
    this.#file = new StoreFile({ path, where, clock: options.clock, hasJoined, known, onTrouble });
    const { before } = this.#file;
    this.#storeId = before?.storeId ?? null;
    this.unsettled = new Unsettled(before?.unsettled);
    this.#copy = before?.state ?? null;
    this.#copyMs = this.#copy === null ? null : (before?.atMs ?? null);
  }

  /** Opens the shared log as soon as it can be had, and keeps it open. */
  start(): void {
    this.#running = this.#run();
  }

  get condition(): Condition {
    if (this.#refusal !== null)
      return { is: "refused", error: this.#refusal.error, code: this.#refusal.code };
    const opening = this.#opening;
    const sinceMs = opening?.journal.awaySinceMs ?? null;
    if (opening !== null && sinceMs !== null) return { is: "away", sinceMs, why: opening.journal.awayWhy };
    return opening !== null && this.#hasLease ? { is: "open" } : { is: "opening", why: this.#problem };
  }

  /** Wall time as of which tasks and messages are known, in milliseconds; null: as of now, or nothing is known yet. */
  get asOfMs(): number | null {
    return this.#opening === null ? this.#copyMs : this.#opening.journal.awaySinceMs;
  }

  /** The engine of the shared log; null: it is not open. */
  get engine(): Engine | null {
    return this.#opening?.engine ?? null;
  }

  /** The shared state as far as this machine knows it; null: this daemon has not read it yet. */
  get state(): State | null {
    return this.#opening?.engine.state ?? this.#copy;
  }

  /** The shared store's own id; null before it was reached. */
  get storeId(): string | null {
    return this.#storeId;
  }

  /** What the store calls this machine; null before it was reached. */
  get machine(): string | null {
    return this.#machine;
  }

  /** Returns why nothing can be entered now, or null. */
  get refusal(): Refusal | null {
    if (this.#isClosed) return restarting;
    return this.#refusal ?? awayRefusal(this.condition, this.#hasOpened);
  }

  /** Whether nothing is entered any more until the daemon's next start. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Wall time in milliseconds. */
  wall(): number {
    return this.#options.clock.wall();
  }

  /** Sends what the outbox has: before anything that its sessions say. */
  flush(): void {
    this.#opening?.relay.flush();
  }

  /** Resolves with whether the store is open, within `waitMs`. */
  open(waitMs: number): Promise<boolean> {
    return this.#waits.until(() => this.condition.is === "open", waitMs);
  }

  /** Resolves with whether the store has all that the outbox had, within `waitMs`. */
  relayed(waitMs: number): Promise<boolean> {
    this.flush();
    return this.#waits.until(() => this.#opening?.relay.isEmpty === true, waitMs);
  }

  /** Changes what is shared. Who asks does so once at a time. */
  setSharing(command: CommandOf<"sharing_set"> & { readonly type: "sharing_set" }): Promise<Reply> {
    const changed = this.own.submitAndWait(command);
    this.#changing = changed;
    void changed.then(() => this.#file.keepId(this.#storeId));
    return changed;
  }

  /** Tells the shared log anew of all sessions, and renews the lease first: it may have lost them. */
  tellAnew(): Promise<void> {
    return this.#telling.again();
  }

  /** The same for a session that the log does not have: not for each call of it. Resolves with whether the rows go. */
  async tellUnknown(): Promise<boolean> {
    await this.#telling.ifDue();
    // After an outage rows wait for the lease, and a session's own words do not.
    return this.#waits.until(() => this.#opening?.relay.isSending !== false, limits.storeAnswerMs);
  }

  async #tell(): Promise<void> {
    if (this.own.state.outbox.node !== this.node) return;
    await this.#tellOwn(null);
    this.#opening?.lease.renew();
    this.#opening?.relay.again();
    this.flush();
  }

  /** Tells the store that this node leaves, and says nothing more to it until the daemon's next start. */
  async leave(): Promise<Reply> {
    const opening = this.#opening;
    opening?.lease.close();
    opening?.relay.close();
    const away = this.refusal ?? storeLeft;
    const reply = opening === null ? away : await opening.engine.submitAndWait({ type: "node_leave" });
    this.#isOver = true;
    this.#left = { isTold: reply.ok };
    this.#refusal = storeLeft;
    this.#changed();
    return reply;
  }

  /** Whether the store knows that this machine left; null: it has not left. */
  get left(): { readonly isTold: boolean } | null {
    return this.#left;
  }

  /** Closes the shared log; what it has not taken yet goes on from the outbox at the next start. */
  async close(): Promise<void> {
    this.#isClosed = this.#isOver = true;
    this.#endPause();
    this.#endOpening();
    this.#changed();
    this.#waits.close();
    const { clock } = this.#options;
    let stopWaiting: () => void = () => {};
    const late = new Promise<void>(resolve => {
      stopWaiting = clock.at(clock.now() + limits.storeCloseMs, resolve);
    });
    await Promise.race([this.#running, late]);
    stopWaiting();
    await this.#file.close();
  }

  get #known(): KnownStore {
    const atMs = this.asOfMs ?? this.#options.clock.wall();
    return { storeId: this.#storeId, state: this.state, atMs, unsettled: this.unsettled.all };
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        const ended = await this.#openOnce();
        if (ended !== null) throw ended;
      } catch (error) {
        if (this.#isOver) return;
        const problem = error instanceof Error ? error.message : String(error);
        if (problem !== this.#problem) this.#options.onTrouble("the shared store is not open", error);
        this.#problem = problem;
        const lasting = lastingRefusal(error, this.#file.formerWhere);
        this.#refusal = lasting?.refusal ?? null;
        this.#isOver = lasting?.isOver === true;
      }
      this.#changed();
      if (!this.#isOver) await this.#pause();
    }
  }

  /** Opens the log, and resolves when it ends: with the error that ended it, or null when the daemon closes it. */
  async #openOnce(): Promise<Error | null> {
    const { clock, node, onStep, onTrouble, snapshotEntries } = this.#options;
    let end: (error: Error | null) => void = () => {};
    const ended = new Promise<Error | null>(resolve => {
      end = resolve;
    });
    const journal = await this.#options.journal(this.#storeId);
    let engine: Engine;
    try {
      engine = await Engine.start({
        // The time of the shared log is the store's.
        ...{ journal, clock: clockFromZero(clock), node, storeId: "shared", onTrouble, onFatal: end },
        ...(snapshotEntries === undefined ? {} : { snapshotEntries }),
        onStep: (entry, step, _epoch, isReplayed) => {
          if (isReplayed) return;
          onStep(entry, step);
          this.#file.stepped(entry);
          // Nothing was published yet of what only a higher level takes.
          if (entry.command.type === "rules" && this.#hasLease) void this.tellAnew();
        },
      });
    } catch (error) {
      await journal.close();
      throw error;
    }
    this.back.opened(this.#copy, engine.state, clock.wall());
    this.#storeId = journal.storeId;
    this.#file.opened();
    this.#file.keepId(this.#storeId);
    this.#begin(engine, journal);
    this.#endOpening = () => end(null);
    if (this.#isOver) end(null);
    const error = await ended;
    this.back.ended(error, clock.wall());
    await this.#endOf(engine);
    return error;
  }

  #begin(engine: Engine, journal: SharedJournal): void {
    const { own, clock, node, machine, binding, version } = this.#options;
    const onFailed = () => this.#changed();
    const onAnswer = (reply: Reply) => this.#renewed(reply);
    const lease = new Lease(engine, { clock, machine, binding, version, onAnswer, onFailed });
    const onRefused = (reply: Reply) => this.#rowRefused(reply);
    // The renewal that goes through shows that the store is back, and then the rows follow.
    const relay = new Relay(engine, { node, own, onRefused, onFailed: () => lease.renew() });
    this.#opening = { engine, journal, lease, relay };
    journal.onReach(() => {
      if (this.#opening?.journal === journal) this.#changed();
    });
    this.#hasOpened = true;
    this.#problem = this.#refusal = null;
    const { outbox } = own.state;
    if (outbox.node !== node)
      own.submitWithRetry({ type: "sharing_set", node, projects: [...outbox.projects] });
    lease.renew();
  }

  async #endOf(engine: Engine): Promise<void> {
    const opening = this.#opening;
    this.#opening = null;
    this.#hasLease = false;
    this.#copy = engine.state;
    this.#copyMs = opening?.journal.awaySinceMs ?? this.#options.clock.wall();
    opening?.lease.close();
    opening?.relay.close();
    try {
      await engine.close();
    } catch (error) {
      this.#options.onTrouble("the shared log could not be closed in order", error);
    }
  }

  #renewed(reply: Reply): void {
    this.#refusal = reply.ok ? null : reply;
    if (!reply.ok) this.#hasLease = false;
    else {
      if (typeof reply["machine"] === "string") this.#machine = reply["machine"];
      // At the first answer of an opening, too: a store that was restored or failed over may lack what it had confirmed.
      if (reply["isNew"] === true || !this.#hasLease) void this.#tellAll(numberIn(reply["relayed"]));
      else this.#serve();
    }
    this.#changed();
  }

  /** From now on what sessions say comes after what the log knows of them. */
  #serve(): void {
    if (this.#opening === null) return;
    this.#opening.relay.begin();
    this.#hasLease = true;
    this.#changed();
  }

  /** The store may lack sessions of this node, or had numbers from a later state of this home. */
  async #tellAll(relayed: OutboxNumber | null): Promise<void> {
    await this.#tellOwn(relayed);
    this.#opening?.relay.again();
    this.#serve();
  }

  /** Says anew what is shared, as it is after a change that is under way. */
  async #tellOwn(relayed: OutboxNumber | null): Promise<void> {
    await this.#changing;
    const { own, node } = this;
    const level = this.#opening?.engine.state.rules ?? own.state.outbox.level;
    const same = { type: "sharing_set", node, projects: [...own.state.outbox.projects], level } as const;
    await own.submitAndWait(relayed === null ? same : { ...same, relayed });
  }

  #rowRefused(reply: Reply): void {
    const opening = this.#opening;
    if (opening === null) return;
    if (!reply.ok && reply.code === "unknown_node") opening.lease.renew();
    else {
      const { clock } = this.#options;
      clock.at(clock.now() + limits.fullRetryMs, () => opening.relay.begin());
    }
  }

  #changed(): void {
    // A stop is no change of the store.
    if (!this.#isClosed) this.#notes.note(this.condition);
    this.#waits.changed();
  }

  #pause(): Promise<void> {
    const { clock } = this.#options;
    return new Promise(resolve => {
      const cancel = clock.at(clock.now() + limits.storeReopenMs, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
