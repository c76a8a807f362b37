/** The interface between the engine and the log. */
import type { Entry, Proposal } from "../core/tables/entries.ts";

/** The content of a snapshot, piece by piece. */
export type Pieces = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * The ordered log. The engine proposes commands and applies the entries that the log delivers, from this node and
 * others, in the order of `seq`. Only the journal's files and the engine know where the log is stored.
 *
 * Invariants of every implementation (tests/journal/suite.ts):
 * - delivered `seq` are contiguous and never repeat within one opening;
 * - an entry is delivered only after it is stored so that it survives the end of this process; `durableSeq` rises when
 *   it also survives a power cut;
 * - a proposal is delivered at most once; one that failed may still be delivered later only if its failure was
 *   `unknown`;
 * - no entry is delivered, and no proposal fails, within the call of `propose`;
 * - after `close` no entry is delivered.
 *
 * A log that several nodes share gives an entry the time of its store at the append, which never goes back, in place of
 * the proposal's.
 */
export interface Journal {
  /** The content of the last intact snapshot, or null; callable before `open`, and at any time for a rebuild. */
  loadSnapshot(): Promise<Snapshot | null>;
  /**
   * Opens the log for writing under the next epoch. Hands the stored entries after `after` to `found` as it reads them,
   * in order, before it resolves: a long log never is in memory as a whole. Later entries go to `deliver`, in batches.
   */
  open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened>;
  /**
   * Proposes commands, in order. `failed` is called for each that could not be stored. Unless `reason.outcome` is
   * "unknown", such a command was not and will not be delivered. `cost`: how many entries each of them counts as, if the
   * log bounds what it delivers in one turn of the event loop; 1 by default.
   */
  propose(
    proposals: readonly Proposal[],
    failed: (p: Proposal, reason: ProposeFailure) => void,
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
  /**
   * Resolves when everything committed before the call has been delivered, and every earlier proposal of this node has
   * been delivered or has failed. Of a log elsewhere that does not answer for some seconds, what is known has to do.
   */
  barrier(): Promise<void>;
  /**
   * Stores the state after `seq`, which has been delivered, and removes older files that are no longer needed. Rejects
   * if it could not be stored, or the journal closes meanwhile: the earlier snapshot and the log still exist then; so
   * they do if the pieces end with an error. The state comes in pieces, because to put a large one together would stop
   * the event loop; a piece is asked for when the one before is stored. A log that nodes share asks for none if another
   * node has stored a state that is as good, or stores one now.
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
  readonly code:
    | "store_full"
    | "store_lost"
    | "store_away"
    | "outcome_unknown"
    | "internal_error"
    | "restarting";
  readonly message: string;
  /** "not_stored": it was not and will not be stored; "unknown": it may still be delivered. */
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
