/**
 * Appends this node's proposals: those of one turn of the event loop together, one append at a time.
 *
 * Invariants: a proposal is decided once: delivered, or failed; and within `answerMs`, whatever the store does. A proposal
 * that fails as `not_stored` was part of no append whose outcome is unknown. An append whose outcome is unknown is made
 * again with the same origins. The log takes each origin once, so the second append settles what became of the first.
 */
import type { Entry, Proposal } from "../../core/tables/entries.ts";
import type { Connection } from "../../store/connection.ts";
import { errorMessage, type Meaning, meaningOf } from "../../store/errors.ts";
import type { ProposeFailure } from "../journal.ts";
import { brokenFailure, closedFailure, tooLargeFailure } from "../journal.ts";
import type { StoreBounds } from "./bounds.ts";
import { awayFailure, busyFailure, fullStoreFailure, refusedFailure, unknownFailure } from "./failures.ts";
import type { Link, Reach } from "./link.ts";
import type { Position, Stored, StoreLog, Writer } from "./log.ts";

type Failed = (proposal: Proposal, reason: ProposeFailure) => void;

/** A proposal that is not decided. */
interface Pending {
  readonly proposal: Proposal;
  readonly failed: Failed;
  readonly cost: number;
  /** The command as JSON. */
  readonly text: string;
  readonly sinceMs: number;
  /** It is part of an append that runs, or of one that took effect. */
  isSent: boolean;
  /** It was part of an append that may have taken effect, or may still do so. */
  isUnsure: boolean;
}

export interface AppendsOptions {
  readonly log: StoreLog;
  readonly link: Link;
  readonly reach: Reach;
  readonly bounds: StoreBounds;
  readonly writer: Writer;
  readonly position: () => Position;
  /** Gets the entries of an append. */
  readonly stored: (stored: readonly Stored[]) => void;
  /** The log may have entries that nobody told this node of. */
  readonly wake: () => void;
  /** An error that only a new start resolves. */
  readonly onFatal: (error: Error) => void;
}

export class Appends {
  readonly #options: AppendsOptions;
  readonly #pending = new Map<number, Pending>();
  #waiting: Pending[] = [];
  #waitingBytes = 0;
  #isFull = false;
  #running: Promise<void> | null = null;
  #ended: ProposeFailure | null = null;
  #timer: NodeJS.Timeout | null = null;
  #deciders: (() => void)[] = [];
  #endPause: () => void = () => {};

  constructor(options: AppendsOptions) {
    this.#options = options;
  }

  /** The store had no space for the last append. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** No proposal waits for its answer. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** Takes proposals; each is decided in a later turn of the event loop. */
  add(proposals: readonly Proposal[], failed: Failed, cost: number): void {
    const { bounds, writer } = this.#options;
    for (const proposal of proposals) {
      const { node, epoch, n } = proposal.origin;
      if (node !== writer.node || epoch !== writer.epoch)
        throw new Error(
          `proposal ${n} is of ${node}, epoch ${epoch}: this journal writes for ${writer.node}`,
        );
      const text = JSON.stringify(proposal.command);
      const pending = {
        proposal,
        failed,
        cost,
        text,
        sinceMs: performance.now(),
        isSent: false,
        isUnsure: false,
      };
      this.#pending.set(n, pending);
      const reason = this.#refusal(text);
      if (reason !== null) {
        setImmediate(() => this.#fail(pending, reason));
        continue;
      }
      this.#waiting.push(pending);
      this.#waitingBytes += text.length;
    }
    if (this.#waiting.length === 0) return;
    this.#running ??= this.#run();
    this.#timer ??= this.#later(Math.min(bounds.waitMs, bounds.answerMs) / 4);
  }

  #refusal(text: string): ProposeFailure | null {
    const { recordBytes, waitingMax, waitingBytesMax, waitMs } = this.#options.bounds;
    if (this.#ended !== null) return this.#ended;
    if (text.length > recordBytes) return tooLargeFailure(recordBytes);
    const { awayForMs, reason } = this.#options.reach;
    if (awayForMs !== null && awayForMs > waitMs) return awayFailure(reason);
    const isFull = this.#waiting.length >= waitingMax || this.#waitingBytes + text.length > waitingBytesMax;
    return isFull ? busyFailure : null;
  }

  /** Notes that an entry is delivered now; it was proposed here if its origin is this writer's. */
  delivered({ origin }: Entry): void {
    const { node, epoch } = this.#options.writer;
    if (origin.node === node && origin.epoch === epoch) this.#pending.delete(origin.n);
  }

  /** Calls those who wait for proposals that are decided by now. */
  settle(): void {
    for (const decide of this.#deciders.splice(0)) decide();
  }

  /** Resolves when every proposal made before is decided. */
  decided(): Promise<void> {
    const last = [...this.#pending.keys()].at(-1);
    if (last === undefined) return Promise.resolve();
    const open = new Set(this.#pending.values());
    return new Promise(resolve => {
      const look = () => {
        for (const one of open) if (this.#pending.get(one.proposal.origin.n) !== one) open.delete(one);
        if (open.size === 0) resolve();
        else this.#deciders.push(look);
      };
      look();
    });
  }

  /** Fails all that was not sent, and takes nothing more; resolves when the append that runs is over. */
  async close(): Promise<void> {
    this.end(closedFailure);
    await this.#running;
    for (const one of [...this.#pending.values()]) this.#fail(one, closedFailure);
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Takes nothing more. What was sent may be stored, or not. */
  broken(error: Error): void {
    const failure = brokenFailure(error, "not_stored");
    this.end(failure);
    for (const one of [...this.#pending.values()]) this.#fail(one, failure);
  }

  /** Fails all that was not sent, and takes nothing more. */
  end(reason: ProposeFailure): void {
    this.#ended ??= reason;
    for (const one of this.#waiting.splice(0)) this.#fail(one, reason);
    this.#waitingBytes = 0;
    this.#endPause();
  }

  async #run(): Promise<void> {
    // Proposals of one turn go together.
    await new Promise(resolve => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#store(this.#nextBatch());
    // In the same moment as the look above: what is proposed a microtask later begins the next run.
    this.#running = null;
  }

  /** As many of those that wait as one append may have: at least one. */
  #nextBatch(): readonly Pending[] {
    const { batchEntriesMax, batchBytesMax } = this.#options.bounds;
    let [count, cost, bytes] = [0, 0, 0];
    for (const one of this.#waiting) {
      cost += one.cost;
      bytes += one.text.length;
      if (count > 0 && (cost > batchEntriesMax || bytes > batchBytesMax)) break;
      count += 1;
    }
    const batch = this.#waiting.splice(0, count);
    for (const { text } of batch) this.#waitingBytes -= text.length;
    return batch;
  }

  /** Appends a batch, again until it is decided. */
  async #store(batch: readonly Pending[]): Promise<void> {
    const { link, log, writer, bounds, position } = this.#options;
    for (let pauseMs = bounds.retryMinMs; ; pauseMs = Math.min(2 * pauseMs, bounds.retryMaxMs)) {
      let connection: Connection;
      try {
        connection = await link.connection();
      } catch {
        // The journal closes.
        return;
      }
      const left = batch.filter(one => this.#isPending(one));
      if (left.length === 0 || this.#ended !== null) return;
      const known = position();
      for (const one of left) one.isSent = true;
      try {
        const proposals = left.map(({ proposal }) => proposal);
        const stored = await log.append(
          connection,
          writer,
          known,
          proposals,
          left.map(({ text }) => text),
        );
        this.#options.reach.answered();
        this.#isFull = false;
        if (stored !== null) return this.#options.stored(stored);
        for (const one of left) one.isSent = false;
        const reason = await log.refusal(connection, writer, known);
        if (reason !== null) {
          this.#options.onFatal(reason);
          return;
        }
      } catch (error) {
        if (this.#isOver(left, error)) return;
      }
      if (this.#ended !== null) return;
      await this.#pause(pauseMs);
    }
  }

  /** Whether a failed append is decided all the same, or may not be made again. */
  #isOver(left: readonly Pending[], error: unknown): boolean {
    const meaning: Meaning = meaningOf(error);
    for (const one of left) one.isSent = false;
    if (meaning === "unsure") {
      for (const one of left) one.isUnsure = true;
      // The log delivers them if they are there.
      this.#options.wake();
      this.#options.link.drop();
      return false;
    }
    this.#isFull = meaning === "full";
    if (meaning === "busy") return false;
    if (meaning === "gone") this.#options.onFatal(this.#options.log.lost());
    else if (meaning === "duplicate") this.#options.wake();
    else {
      const reason = meaning === "full" ? fullStoreFailure : refusedFailure(errorMessage(error));
      for (const one of left) this.#fail(one, reason);
    }
    return true;
  }

  #isPending(one: Pending): boolean {
    return this.#pending.get(one.proposal.origin.n) === one;
  }

  /** Fails a proposal, unless it is decided. An append that may have taken effect makes it unknown whether it is stored. */
  #fail(one: Pending, reason: ProposeFailure): void {
    if (!this.#isPending(one)) return;
    this.#pending.delete(one.proposal.origin.n);
    one.failed(one.proposal, isUndecided(one) ? { ...reason, outcome: "unknown" } : reason);
    this.settle();
  }

  #later(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => this.#expire(ms), ms);
    timer.unref();
    return timer;
  }

  /** Fails those whose time is over. */
  #expire(everyMs: number): void {
    const { bounds, reach } = this.#options;
    const now = performance.now();
    for (const one of [...this.#pending.values()]) {
      const [ms, reason] = isUndecided(one)
        ? [bounds.answerMs, unknownFailure]
        : [bounds.waitMs, awayFailure(reach.reason)];
      if (now - one.sinceMs >= ms) this.#fail(one, reason);
    }
    this.#waiting = this.#waiting.filter(one => this.#isPending(one));
    this.#waitingBytes = this.#waiting.reduce((sum, { text }) => sum + text.length, 0);
    this.#timer = this.#pending.size > 0 ? this.#later(everyMs) : null;
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms * (0.5 + Math.random() / 2));
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Whether it is not known that the log lacks the proposal, and will lack it. */
function isUndecided({ isSent, isUnsure }: Pending): boolean {
  return isSent || isUnsure;
}
