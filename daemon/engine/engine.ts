/**
 * Proposes commands to the log, applies the entries that the log delivers, and sends answers and events once their
 * entry is durable enough.
 *
 * Invariants: the state changes only in `#deliver`, in the order of the log. No output leaves before its entry is stored. An
 * entry that throws is voided, and the state rebuilt without it.
 */

import { limits } from "../../protocol/limits.ts";
import { apply, costOf, skip } from "../core/apply.ts";
import type { Retry } from "../core/frame/actors.ts";
import { emptyState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import { rulesLevel } from "../core/tables/base-state.ts";
import type { Command, Entry, Grant, Proposal, Reply, Step } from "../core/tables/entries.ts";
import type { Found, Journal, ProposeFailure, Soon } from "../journal/journal.ts";
import { Answers, type Caller, Outbox, restarting } from "./answers.ts";
import { Agenda, type Clock, CoreClock } from "./clock.ts";
import { type LogView, ownView } from "./log-view.ts";
import { type OnStep, type Recovered, Replay, Snapshots, stateHash } from "./replay.ts";

// Decides when entries throw too often for the daemon to go on.

/** Too many entries threw within a short time. */
export class RepeatedThrows extends Error {
  override readonly name = "RepeatedThrows";
}

/** Counts entries that threw lately: a few are voided, many end the daemon. */
class Throws {
  #at: number[] = [];

  /** Counts entry `seq`, which threw at `now` (ms); returns the error that ends the daemon if there are too many. */
  add(seq: number, now: number): RepeatedThrows | null {
    this.#at = [...this.#at.filter(at => at > now - limits.throwsWindowMs), now];
    if (this.#at.length < limits.throwsMax) return null;
    const minutes = limits.throwsWindowMs / 60_000;
    return new RepeatedThrows(
      `${this.#at.length} entries threw within ${minutes} minutes; the last is ${seq}`,
    );
  }
}

/** Returns what was thrown as an error. */
function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}

/** What the daemon's parts use of its log. */
export type Log = Omit<Engine, "found">;

export interface EngineOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly node: string;
  /** The id of a store that has none yet. */
  readonly storeId: string;
  /**
   * Sees every step once its answers may leave, with the epoch of its state. After the recovery it sees the late steps of
   * the replay that the ring of events has room for, with `replayed` true.
   */
  readonly onStep: (entry: Entry, step: Step, epoch: number, replayed: boolean) => void;
  /** Writes a problem to the daemon's log. */
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Called once with an error that only the end of the process resolves. */
  readonly onFatal: (error: Error) => void;
  /** Runs a task after other work; the default is one turn of the event loop. */
  readonly soon?: Soon;
  /** Entries between two snapshots; the default is `limits.snapshotEntries`. */
  readonly snapshotEntries?: number;
  /** Answers sent in one turn of the event loop; the default is `limits.turnAnswersMax`. */
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
  readonly #view = ownView(this);
  /** This machine's log, then those that it shares. */
  readonly logs: readonly LogView[] = [this.#view];
  readonly #voided = new Set<number>();
  #state: State = emptyState();
  /** The last entry that the start found, and the core's time then. */
  found = { seq: 0, t: 0 };
  #epoch = 0;
  #count = 0;
  #queue: Entry[] = [];
  /** Until this resolves, the state is inconsistent. */
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
      onStep: (entry, step) => options.onStep(entry, step, this.#state.epoch, false),
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
    return new Engine(options).#recover();
  }

  /** The state after the last applied entry; read-only. */
  get state(): State {
    return this.#state;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Sequence numbers of entries that threw and are skipped. */
  get voided(): readonly number[] {
    return [...this.#voided];
  }

  /** Core time now. */
  get now(): number {
    return this.#clock.now();
  }

  /** Returns the log that has the project's tasks, messages, context and debates; null: this machine's own. */
  logOf(_project: string | null): LogView {
    return this.#view;
  }

  /** Returns what proposes to this one of the logs, whatever the command. */
  proposer(_log: LogView): Pick<Engine, "submitAndWait" | "submitWithRetry"> {
    return this;
  }

  /** Proposes a command; returns the number for `abandon`. */
  submit(command: Command, caller: Caller): number {
    this.#count += 1;
    const n = this.#count;
    if (this.#closed) {
      caller.answer(restarting);
      return n;
    }
    this.#answers.expect(n, command, caller);
    const proposal = { origin: this.#answers.origin(n), at: this.#clock.now(), command };
    this.#options.journal.propose(proposal, this.#onFailed, this.#costOf(command));
    return n;
  }

  /** A bug here costs an estimate: the step of a command that is broken throws too, and is void. */
  #costOf(command: Command): number {
    try {
      return costOf(this.#state, command);
    } catch (error) {
      this.#options.onTrouble(`the cost of a ${command.type} is not known`, error);
      return 1;
    }
  }

  /** Proposes a command of the daemon itself until the log takes it. */
  submitWithRetry(command: Command): void {
    const { clock } = this.#options;
    const again = () => clock.at(clock.now() + limits.fullRetryMs, () => this.submitWithRetry(command));
    if (!this.#closed) this.submit(command, { answer: () => {}, failed: again });
  }

  /** Proposes a command and resolves with its answer. */
  submitAndWait(command: Command): Promise<Reply> {
    return new Promise(resolve => this.submit(command, { answer: resolve }));
  }

  /** The caller of `n` left: a waiting request gives up its queue position, a grant to it is undone. */
  abandon(n: number): void {
    this.#answers.abandon(n);
  }

  /** Undoes the grant that did not reach the client of `n`; `kept` is the request's retry. */
  undelivered(n: number, grant: Grant, kept?: Retry): void {
    this.#answers.undelivered(n, grant, kept);
  }

  /** Forgets the refusal that did not reach the client of `n`: a retry then runs instead of getting it. */
  unheard(n: number, kept: Retry): void {
    this.#answers.unheard(n, kept);
  }

  /**
   * Calls `read` with a state that holds everything proposed before, once its answers may leave. A caller that must not
   * read later proposals awaits the promise before making them.
   */
  async read(read: (state: State) => void): Promise<void> {
    await this.#options.journal.barrier();
    // During a rebuild the outbox waits until the log has voided the entry that threw, so `read` sees a whole state.
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

  /** Resolves when the state holds everything proposed before. Some of it may not leave the daemon yet: see `outputReleased`. */
  async upToDate(): Promise<void> {
    await this.#options.journal.barrier();
    await this.#whole();
  }

  /** Resolves when everything in the state now may leave the daemon. */
  outputReleased(): Promise<void> {
    return new Promise(resolve => this.#outbox.put(resolve));
  }

  /**
   * Takes a snapshot, of a state that is not large, and closes the journal; all waiting callers are told to connect
   * again. Rejects if the snapshot fails; the journal is closed then as well.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#options.journal.barrier();
    this.#closed = true;
    this.#agenda.close();
    this.#snapshots.giveUp();
    // Sends the answers that wait for their turn, so their callers need not ask again; not if the journal is broken.
    if (!this.#dead) this.#outbox.flush();
    this.#answers.close();
    try {
      await this.#whole();
      if (this.#snapshots.isDueAtStop(this.#state)) await this.#snapshots.take(this.#state, true);
    } finally {
      await this.#options.journal.close();
    }
  }

  async #recover(): Promise<this> {
    const { journal, onStep } = this.#options;
    const snapshot = await journal.loadSnapshot();
    let steps: Parameters<OnStep>[] = [];
    const replay = new Replay(snapshot, this.#voided, {
      begin: () => {
        steps = [];
      },
      onStep: (...step) => void steps.push(step),
    });
    let until = replay.after;
    const found: Found = (entry, behindBytes) => {
      until = entry.seq;
      replay.add(entry, behindBytes);
    };
    const opened = await journal.open(replay.after, batch => this.#deliver(batch), found);
    const recovered = await this.#repeated(replay, until);
    const { retired } = recovered;
    if (retired > 0)
      this.#options.onTrouble(
        `the journal has ${retired} entries of retired commands: they change nothing`,
        null,
      );
    [this.#state, this.#epoch] = [recovered.state, opened.epoch];
    this.found = { seq: this.#state.seq, t: this.#state.t };
    this.#clock.catchUp(this.#state.t);
    this.#snapshots.found(snapshot);
    if (this.#snapshots.isDueAtStart(this.#state)) await this.#takeSnapshot(true);
    for (const seq of recovered.voided) this.#voided.add(seq);
    for (const [entry, step, epoch] of steps) onStep(entry, step, epoch, true);
    this.#agenda.reset();
    journal.onDurable(seq => this.#outbox.durable(seq));
    journal.onFatal(error => this.#die(error));
    for (const seq of recovered.threw)
      this.#void(seq, new Error(`entry ${seq} threw while the journal was read`));
    await this.#begin();
    await this.#raiseRules();
    this.#agenda.arm();
    return this;
  }

  /** Writes the new epoch. */
  async #begin(): Promise<void> {
    const { storeId } = this.#options;
    const reply = await this.submitAndWait({ type: "daemon_started", epoch: this.#epoch, storeId });
    if (!reply.ok) throw new Error(`the journal took no new epoch: ${reply.error}`);
  }

  /** Writes the level of rules that this program has. Without it the daemon serves all the same, by the earlier ones. */
  async #raiseRules(): Promise<void> {
    if (this.#state.rules >= rulesLevel) return;
    const reply = await this.submitAndWait({ type: "rules", level: rulesLevel });
    if (reply.ok) return;
    const message = `the journal did not take rules ${rulesLevel}; those of level ${this.#state.rules} apply`;
    this.#options.onTrouble(message, reply);
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
    this.#agenda.arm();
    this.#snapshotIfDue();
  }

  /** Returns false if the entry threw and the state is being rebuilt without it. */
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

  /** Resolves when no rebuild is running; rejects if the rebuild fails. */
  async #whole(): Promise<void> {
    while (this.#rebuilding !== null) await this.#rebuilding;
  }

  async #rebuild(): Promise<void> {
    const { journal } = this.#options;
    const snapshot = await journal.loadSnapshot();
    const until = this.#state.seq;
    const replay = new Replay(snapshot, this.#voided);
    await journal.read(replay.after, (entry, behindBytes) => {
      if (entry.seq <= until) replay.add(entry, behindBytes);
    });
    const { state, threw } = await this.#repeated(replay, until);
    this.#state = state;
    for (const seq of threw) this.#void(seq, new Error(`entry ${seq} threw when it was applied again`));
    // A person can compare the hash with a state replayed from the log alone.
    const hash = stateHash(state);
    this.#options.onTrouble(`the state was rebuilt, to entry ${state.seq}; its SHA-256 is ${hash}`, null);
    this.#agenda.reset();
    this.#rebuilding = null;
    this.#drain();
  }

  /** Replays the log up to entry `until` again, as often as it takes. */
  async #repeated(replay: Replay, until: number): Promise<Recovered> {
    while (replay.mustRepeat()) {
      await this.#options.journal.read(replay.after, (entry, behindBytes) => {
        if (entry.seq <= until) replay.add(entry, behindBytes);
      });
    }
    return replay.recovered;
  }

  #snapshotIfDue(): void {
    if (!this.#closed && this.#snapshots.isDue(this.#state)) void this.#takeSnapshot();
  }

  async #takeSnapshot(atOnce = false): Promise<void> {
    try {
      await this.#snapshots.take(this.#state, atOnce);
    } catch (error) {
      this.#options.onTrouble("a snapshot could not be written", error);
    }
  }
}
