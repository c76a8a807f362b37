/** The interface between the engine and the log. */

import { limits } from "../../protocol/limits.ts";
import type { Entry, Proposal } from "../core/tables/entries.ts";

/** The content of a snapshot, piece by piece. */
export type Pieces = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * The ordered log of this machine. The engine proposes commands and applies the entries that the log delivers, in the order
 * of `seq`. Only the journal's files and the engine know where the log is stored.
 *
 * Invariants of every implementation (tests/journal/suite.ts):
 * - delivered `seq` are contiguous and never repeat within one opening;
 * - an entry is delivered only after it is stored. A stored entry survives the end of this process. `durableSeq` rises when
 *   it also survives a power cut;
 * - a proposal is delivered once, or it fails. A later start finds one that failed only if its failure was `unknown`;
 * - no entry is delivered, and no proposal fails, within the call of `propose`;
 * - after `close` no entry is delivered.
 */
export interface Journal {
  /** The content of the last intact snapshot, or null; callable before `open`, and at any time for a rebuild. */
  loadSnapshot(): Promise<Snapshot | null>;
  /**
   * Opens the log for writing under the next epoch. Hands the stored entries after `after` to `found` as it reads them, in
   * order, before it resolves. A long log is never in memory as a whole. Later entries go to `deliver`, in batches.
   */
  open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened>;
  /**
   * Proposes a command, after those proposed before. `failed` is called if it could not be stored; then it is never
   * delivered. `cost`: how many entries it counts as, 1 by default, if the log bounds what one turn of the event loop
   * delivers.
   */
  propose(
    proposal: Proposal,
    failed: (proposal: Proposal, reason: ProposeFailure) => void,
    cost?: number,
  ): void;
  /** Entries up to this one survive a power cut. */
  readonly durableSeq: number;
  /**
   * Requests that everything delivered so far becomes durable; `onDurable` is called when `durableSeq` rises. During a
   * running sync this costs almost nothing: one further sync serves all requests.
   */
  sync(): void;
  onDurable(callback: (durableSeq: number) => void): void;
  /** Resolves when every earlier proposal has been delivered or has failed. */
  barrier(): Promise<void>;
  /**
   * Stores the state after `seq`, which has been delivered, and removes older files that are no longer needed. Rejects if it
   * could not be stored, the journal closes meanwhile, or the pieces end with an error. The earlier snapshot and the log
   * still exist then. The state comes in pieces, because joining a large one would stop the event loop. The journal asks for
   * a piece when the one before is stored.
   */
  saveSnapshot(seq: number, pieces: Pieces): Promise<void>;
  /**
   * Hands the stored entries after `after`, up to the last delivered batch, to `found` in order; for a rebuild. Entries
   * before the last snapshot may have been removed.
   */
  read(after: number, found: Found): Promise<void>;
  /**
   * Checks that the files are where a start looks for them; if not, `onFatal` gets `StoreLost`. Writes and syncs check
   * this anyway: callers use `verify` when the journal is idle.
   */
  verify(): void;
  /** Called once with an error that only the end of the process resolves. Nothing is stored after it. */
  onFatal(callback: (error: Error) => void): void;
  readonly health: JournalHealth;
  /** Fails waiting proposals with `restarting`; when this resolves, every delivered entry is durable. */
  close(): Promise<void>;
}

/** Takes a stored entry; `behindBytes`: how much of the log follows it, roughly. */
export type Found = (entry: Entry, behindBytes: number) => void;

export interface Opened {
  readonly epoch: number;
}

export interface Snapshot {
  readonly seq: number;
  readonly bytes: Buffer;
}

export interface JournalHealth {
  /** Bytes stored after the last snapshot, roughly. */
  readonly bytes: number;
  /** The disk is full: only commands that free space are accepted. */
  readonly full: boolean;
}

export interface ProposeFailure {
  readonly code: "store_full" | "store_lost" | "internal_error" | "restarting";
  readonly message: string;
  /** "not_stored": it was not and will not be stored; "unknown": a later start may find it. */
  readonly outcome: "not_stored" | "unknown";
}

/** The log's files were removed, moved or replaced while the daemon wrote: a start would not find the new entries. */
export class StoreLost extends Error {
  override readonly name = "StoreLost";
}

/** The journal is damaged and the daemon cannot start; `kite doctor` explains it. */
export class JournalDamaged extends Error {
  override readonly name = "JournalDamaged";
}

// The failures that the journal reports to proposers.

/** Returns the failure for proposals that wait when the journal breaks; `cause` is what broke it. */
export function brokenFailure(cause: Error | null, outcome: ProposeFailure["outcome"]): ProposeFailure {
  if (cause instanceof StoreLost) return { code: "store_lost", message: cause.message, outcome };
  return {
    code: "internal_error",
    message: "the journal could not be written; the daemon stops: see its log",
    outcome,
  };
}

/** Returns the failure for a command longer than one entry may be (`bytes`). */
export function tooLargeFailure(bytes: number): ProposeFailure {
  return {
    code: "internal_error",
    message: `the command is larger than the log takes (${bytes} bytes): name fewer files at once`,
    outcome: "not_stored",
  };
}

/** Says that the files of the journal in `dir` were moved or removed, and what to do. */
export function lostText(dir: string): string {
  return (
    `the journal's files in ${dir} were removed, moved or replaced while the daemon ran: nothing is stored any ` +
    "more, and the daemon stops. Put the folder back if you have it; then start Kite again: kite up"
  );
}

// Collects proposals into one write for each turn of the event loop.

/** A proposal that waits to be written, and the callback for its failure. */
export interface Waiting {
  readonly proposal: Proposal;
  readonly failed: (proposal: Proposal, reason: ProposeFailure) => void;
  /** How many entries it counts as. */
  readonly cost: number;
}

/** Runs a task in a later turn of the event loop, never before the caller has returned. */
export type Soon = (task: () => void) => void;

/** A caller that waits until `after` proposals have been committed. */
interface Barrier {
  readonly after: number;
  readonly resolve: () => void;
}

/**
 * Collects the proposals of one turn of the event loop and commits them together, in order, up to `limits.turnEntriesMax` by
 * their costs. Later turns commit the others. Proposals made during a commit join the next batch.
 */
export class Batches {
  readonly #soon: Soon;
  readonly #commit: (batch: readonly Waiting[]) => readonly Waiting[];
  #waiting: Waiting[] = [];
  /** Number of proposals so far, and of those committed. */
  #added = 0;
  #committed = 0;
  #barriers: Barrier[] = [];
  #scheduled = false;
  #committing = false;
  #holds = 0;

  /** `commit` returns the proposals that have to wait; they begin the next batch. */
  constructor(soon: Soon, commit: (batch: readonly Waiting[]) => readonly Waiting[]) {
    this.#soon = soon;
    this.#commit = commit;
  }

  add(proposal: Proposal, failed: Waiting["failed"], cost = 1): void {
    this.#waiting.push({ proposal, failed, cost });
    this.#added += 1;
    this.#schedule();
  }

  /** Resolves when every proposal added before has been committed. */
  barrier(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#committing) return Promise.resolve();
    return new Promise(resolve => this.#barriers.push({ after: this.#added, resolve }));
  }

  /** Commits nothing until `release` was called as often as `hold`. */
  hold(): void {
    this.#holds += 1;
  }

  release(): void {
    this.#holds -= 1;
    this.#schedule();
  }

  /** Commits all waiting proposals at once, even during a `hold`. */
  flush(): void {
    this.#commitFirst(this.#waiting.length);
  }

  #commitFirst(count: number): void {
    const batch = this.#waiting.splice(0, count);
    if (batch.length === 0) return;
    this.#committing = true;
    const left = this.#commit(batch);
    this.#committing = false;
    this.#committed += batch.length - left.length;
    if (left.length > 0) this.#waiting = [...left, ...this.#waiting];
    this.#schedule();
    const waits = this.#barriers.findIndex(({ after }) => after > this.#committed);
    const over = this.#barriers.splice(0, waits === -1 ? this.#barriers.length : waits);
    for (const { resolve } of over) resolve();
  }

  #schedule(): void {
    if (this.#scheduled || this.#holds > 0 || this.#waiting.length === 0) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      if (this.#holds === 0) this.#commitFirst(this.#countOfTurn());
    });
  }

  /** Returns how many of the waiting proposals one turn commits: at least one. */
  #countOfTurn(): number {
    let [count, left]: [number, number] = [0, limits.turnEntriesMax];
    for (const { cost } of this.#waiting) {
      left -= cost;
      if (left < 0 && count > 0) break;
      count += 1;
    }
    return count;
  }
}

/** Reports to every proposer in `batch` that it was not stored, or why the journal cannot tell. */
export function failAll(batch: readonly Waiting[], reason: ProposeFailure): void {
  for (const { proposal, failed } of batch) failed(proposal, reason);
}

export const closedFailure: ProposeFailure = {
  code: "restarting",
  message: "the daemon is stopping; connect again in a moment",
  outcome: "not_stored",
};
