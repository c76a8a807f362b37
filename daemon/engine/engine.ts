/**
 * Proposes commands to the log, applies what the log delivers, and lets answers and events out when their entry is
 * durable enough.
 *
 * Invariants: the state changes only in `#deliver`, in the order of the log; nobody hears of an entry before it is
 * stored; an entry that throws is voided and the state rebuilt without it.
 */

import { limits } from "../../protocol/limits.ts";
import { apply, skip } from "../core/apply.ts";
import type { Command, Entry, Proposal } from "../core/commands.ts";
import type { Retry } from "../core/origin.ts";
import type { Grant, Reply, Step } from "../core/outcome.ts";
import { emptyState, rulesLevel, type State } from "../core/state.ts";
import type { Soon } from "../journal/batches.ts";
import type { Journal, ProposeFailure } from "../journal/journal.ts";
import { Answers, type Caller, restarting } from "./answers.ts";
import type { Clock } from "./clock.ts";
import { CoreClock } from "./core-clock.ts";
import { Outbox } from "./outbox.ts";
import { rebuild } from "./replay.ts";
import { Agenda } from "./scheduler.ts";
import { Snapshots } from "./snapshot-schedule.ts";
import { Throws } from "./throws.ts";

export interface EngineOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly node: string;
  /** For a store that has none yet. */
  readonly storeId: string;
  /** Sees every step once it may be heard of; during recovery with `replayed` true. */
  readonly onStep: (entry: Entry, step: Step, state: State, replayed: boolean) => void;
  /** Something a person should read later. */
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Only an end of the process can answer this; called once. */
  readonly onFatal: (error: Error) => void;
  /** Lets other work go first; a turn of the event loop unless told. */
  readonly soon?: Soon;
  /** Entries after which a snapshot is taken; `limits.snapshotEntries` unless told. */
  readonly snapshotEntries?: number;
  /** Answers that leave in one turn of the event loop; `limits.turnAnswersMax` unless told. */
  readonly turnAnswers?: number;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #clock: CoreClock;
  readonly #answers: Answers;
  readonly #agenda: Agenda;
  readonly #outbox: Outbox;
  readonly #snapshots: Snapshots;
  readonly #onFailed = (failed: Proposal, reason: ProposeFailure) =>
    this.#answers.failed(failed.origin.n, reason);
  readonly #throws = new Throws();
  readonly #voided = new Set<number>();
  #state: State = emptyState();
  #epoch = 0;
  #count = 0;
  #queue: Entry[] = [];
  /** The state is torn until this resolves. */
  #rebuilding: Promise<void> | null = null;
  #closed = false;
  #dead = false;

  private constructor(options: EngineOptions) {
    this.#options = options;
    this.#clock = new CoreClock(options.clock);
    const soon = options.soon ?? (task => void setImmediate(task));
    this.#outbox = new Outbox(soon, options.turnAnswers);
    this.#answers = new Answers({
      outbox: this.#outbox,
      node: options.node,
      epoch: () => this.#epoch,
      submitWithRetry: command => this.submitWithRetry(command),
      onStep: (entry, step) => options.onStep(entry, step, this.#state, false),
    });
    this.#snapshots = new Snapshots(options.journal, soon, options.snapshotEntries);
    this.#agenda = new Agenda({
      clock: this.#clock,
      now: () => this.now,
      state: () => this.#state,
      submit: (command, caller) => this.submit(command, caller),
    });
  }

  /** Recovers the state, opens the journal for writing and begins a new epoch. */
  static async start(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(options);
    await engine.#recover();
    return engine;
  }

  /** The state as of the last entry applied; to be read, never to be changed. */
  get state(): State {
    return this.#state;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Entries that threw and are skipped. */
  get voided(): readonly number[] {
    return [...this.#voided];
  }

  /** Core time now. */
  get now(): number {
    return this.#clock.now();
  }

  /** Proposes a command; returns the number to `abandon` it by. */
  submit(command: Command, caller: Caller): number {
    this.#count += 1;
    const n = this.#count;
    if (this.#closed) {
      caller.answer(restarting);
      return n;
    }
    this.#answers.expect(n, command, caller);
    const proposal = { origin: this.#answers.origin(n), at: this.#clock.now(), command };
    this.#options.journal.propose([proposal], this.#onFailed);
    return n;
  }

  /** Proposes what the daemon itself has to say, again and again until the log takes it. */
  submitWithRetry(command: Command): void {
    const { clock } = this.#options;
    const again = () => clock.at(clock.now() + limits.fullRetryMs, () => this.submitWithRetry(command));
    if (!this.#closed) this.submit(command, { answer: () => {}, failed: again });
  }

  /** `submit` for those who can wait for the answer in place. */
  submitAndWait(command: Command): Promise<Reply> {
    return new Promise(resolve => this.submit(command, { answer: resolve }));
  }

  /** Nobody listens for `n` any more: a request that waits gives up its place, a grant to it is undone. */
  abandon(n: number): void {
    this.#answers.abandon(n);
  }

  /** The grant answered to `n` did not reach its client; `kept` is the request's retry. */
  undelivered(n: number, grant: Grant, kept?: Retry): void {
    this.#answers.undelivered(n, grant, kept);
  }

  /** The refusal answered to `n` did not reach its client: a retry is carried out instead of getting it. */
  unheard(n: number, kept: Retry): void {
    this.#answers.unheard(n, kept);
  }

  /**
   * Calls `read` with a state that holds everything proposed before, once that may be heard of. Who must not see
   * what is proposed later waits for the promise before proposing it.
   */
  async read(read: (state: State) => void): Promise<void> {
    await this.#options.journal.barrier();
    // Where the state is torn just now, the outbox waits for more than that to be mended.
    await new Promise<void>((resolve, reject) => {
      this.#outbox.put(() => {
        try {
          read(this.#state);
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Resolves when the state holds everything proposed before, not all of which may be heard of yet: see `heard`. */
  async upToDate(): Promise<void> {
    await this.#options.journal.barrier();
    await this.#whole();
  }

  /** Resolves when everything that the state holds now may be heard of. */
  heard(): Promise<void> {
    return new Promise(resolve => this.#outbox.put(resolve));
  }

  /**
   * Takes a snapshot and closes the journal; everything that still waits is told to come back. Rejects where the
   * snapshot could not be taken; the journal is closed then as well.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#options.journal.barrier();
    this.#closed = true;
    this.#agenda.close();
    // Whose answer waits for its turn gets it now, and need not come back for it; not from a journal that is broken.
    if (!this.#dead) this.#outbox.flush();
    this.#answers.close();
    try {
      await this.#whole();
      if (this.#snapshots.isBehind(this.#state)) await this.#snapshots.take(this.#state, true);
    } finally {
      await this.#options.journal.close();
    }
  }

  async #recover(): Promise<void> {
    const { journal, onStep } = this.#options;
    const snapshot = await journal.loadSnapshot();
    const opened = await journal.open(snapshot?.seq ?? 0, batch => this.#deliver(batch));
    const recovered = rebuild(snapshot, opened.entries, this.#voided, (entry, step, state) =>
      onStep(entry, step, state, true),
    );
    this.#state = recovered.state;
    this.#clock.catchUp(this.#state.t);
    this.#epoch = opened.epoch;
    this.#snapshots.found(snapshot);
    for (const { command } of opened.entries) if (command.type === "void") this.#voided.add(command.seq);
    this.#agenda.reset();
    journal.onDurable(seq => this.#outbox.durable(seq));
    journal.onFatal(error => this.#die(error));
    for (const seq of recovered.threw)
      this.#void(seq, new Error(`entry ${seq} threw while the journal was read`));
    await this.#begin();
    if (this.#state.rules < rulesLevel) await this.submitAndWait({ type: "rules", level: rulesLevel });
    this.#agenda.arm();
  }

  /** Makes the new epoch known. A log elsewhere may fail once, or answer late: what counts is what it delivers. */
  async #begin(): Promise<void> {
    const command = { type: "daemon_started", epoch: this.#epoch, storeId: this.#options.storeId } as const;
    for (let left: number = limits.startTriesMax; this.#state.epoch !== this.#epoch; left -= 1) {
      const reply = await this.submitAndWait(command);
      const isOver = left === 1 && this.#state.epoch !== this.#epoch;
      if (!reply.ok && isOver) throw new Error(`the journal took no new epoch: ${reply.error}`);
    }
  }

  #deliver(batch: readonly Entry[]): void {
    for (const entry of batch) this.#queue.push(entry);
    if (this.#rebuilding === null) this.#drain();
  }

  #drain(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const [i, entry] of queue.entries()) {
      if (!this.#applyOne(entry)) {
        this.#queue = [...queue.slice(i + 1), ...this.#queue];
        return;
      }
    }
    this.#clock.catchUp(this.#state.t);
    this.#agenda.arm();
    this.#snapshotIfDue();
  }

  /** False where the entry threw and the state is being rebuilt without it. */
  #applyOne(entry: Entry): boolean {
    if (this.#outbox.entered(entry.seq, entry.command)) this.#options.journal.sync();
    if (this.#voided.has(entry.seq)) {
      skip(this.#state, entry);
      return true;
    }
    let step: Step;
    try {
      step = apply(this.#state, entry);
    } catch (error) {
      this.#outbox.threw(entry.seq);
      this.#answers.sendBug(entry.origin);
      this.#void(entry.seq, error);
      this.#rebuilding = this.#rebuild();
      this.#rebuilding.catch(failure => this.#die(asError(failure)));
      return false;
    }
    this.#agenda.add(step.timers);
    this.#answers.send(entry, step);
    if (entry.command.type === "void") this.#outbox.voided(entry.command.seq);
    return true;
  }

  #void(seq: number, error: unknown): void {
    this.#voided.add(seq);
    this.#options.onTrouble(`entry ${seq} threw and is void`, error);
    const repeated = this.#throws.add(seq, this.now);
    if (repeated !== null) this.#die(repeated);
    this.submitWithRetry({ type: "void", seq });
  }

  #die(error: Error): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#options.onFatal(error);
  }

  /** Resolves when the state is not torn; rejects where it stays so. */
  async #whole(): Promise<void> {
    while (this.#rebuilding !== null) await this.#rebuilding;
  }

  async #rebuild(): Promise<void> {
    const { journal } = this.#options;
    const snapshot = await journal.loadSnapshot();
    const until = this.#state.seq;
    const entries = (await journal.read(snapshot?.seq ?? 0)).filter(e => e.seq <= until);
    const { state, threw } = rebuild(snapshot, entries, this.#voided);
    this.#state = state;
    for (const seq of threw) this.#void(seq, new Error(`entry ${seq} threw when it was applied again`));
    this.#agenda.reset();
    this.#rebuilding = null;
    this.#drain();
  }

  #snapshotIfDue(): void {
    if (this.#closed || !this.#snapshots.isDue(this.#state)) return;
    const failed = (error: unknown) => this.#options.onTrouble("a snapshot could not be written", error);
    this.#snapshots.take(this.#state).catch(failed);
  }
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
