import type { Entry, Proposal } from "../core/commands.ts";

/**
 * The ordered log. The engine hands proposals over and applies what the log delivers, own and foreign alike, in
 * the order of `seq`; nothing outside the journal files and the engine knows where the log is.
 *
 * Invariants every implementation keeps (tests/journal/suite.ts):
 * - delivered `seq` are contiguous and never come twice within one opening;
 * - an entry is delivered only after it is stored as well as its class asks at least for `process`: it survives
 *   the end of this process; `durableSeq` rises when it also survives a power cut;
 * - a proposal is delivered at most once; a `propose` that failed may still be delivered later only where its
 *   failure was `unknown`;
 * - nothing is delivered, and nothing fails, within the call of `propose`;
 * - after `close` nothing is delivered.
 */
export interface Journal {
  /** What the last intact snapshot holds, or null; before `open`, or at any time for a rebuild. */
  loadSnapshot(): Promise<Snapshot | null>;
  /**
   * Opens the log for writing under the next epoch and returns it with the entries after `after` that are
   * stored already, in order. From then on committed entries go to `deliver`, in batches.
   */
  open(after: number, deliver: (batch: readonly Entry[]) => void): Promise<Opened>;
  /**
   * Hands over commands, in order. `failed` is called for each that could not be stored; it has not been and,
   * unless `reason.outcome` is "unknown", will not be delivered.
   */
  propose(proposals: readonly Proposal[], failed: (p: Proposal, reason: ProposeFailure) => void): void;
  /** Entries up to this one survive a power cut. */
  readonly durableSeq: number;
  /**
   * Asks for everything delivered so far to be made durable; `onDurable` is called whenever `durableSeq` rose.
   * Costs next to nothing where a sync is under way already: that one, or one more after it, serves all.
   */
  sync(): void;
  onDurable(callback: (durableSeq: number) => void): void;
  /**
   * Resolves when everything committed before the call has been delivered, and everything proposed before it by
   * this node has been delivered or has failed.
   */
  barrier(): Promise<void>;
  /**
   * Stores the state after `seq`, which has been delivered; what is older and not needed any more is removed.
   * Rejects where it could not be stored: the earlier snapshot and the log are still there then.
   */
  saveSnapshot(seq: number, bytes: Buffer): Promise<void>;
  /**
   * The stored entries after `after`, for a rebuild, up to the end of the batch delivered last. What is before the
   * last snapshot may be gone.
   */
  read(after: number): Promise<readonly Entry[]>;
  /**
   * Looks whether what was stored is still where a start would look for it; if not, `onFatal` hears `StoreLost`.
   * What is proposed or synced is looked at anyway: this is for the time in which nothing is.
   */
  verify(): void;
  /** What only an end of the process can answer (a failed sync, say); called once. Nothing is stored after it. */
  onFatal(callback: (error: Error) => void): void;
  readonly health: JournalHealth;
  /** What waits for its place fails with `restarting`; what was delivered is durable when this resolves. */
  close(): Promise<void>;
}

export interface Opened {
  readonly epoch: number;
  readonly entries: readonly Entry[];
}

export interface Snapshot {
  readonly seq: number;
  readonly bytes: Buffer;
}

export interface JournalHealth {
  /** Bytes stored after the last snapshot, about. */
  readonly bytes: number;
  /** No space: only commands that free something are taken. */
  readonly full: boolean;
}

export interface ProposeFailure {
  readonly code: "store_full" | "store_lost" | "internal_error" | "restarting";
  readonly message: string;
  /** "not_stored": it never happened; "unknown": it may still be delivered. */
  readonly outcome: "not_stored" | "unknown";
}

/** The log's files were removed, moved or replaced while they were written to: a start would not find what is written. */
export class StoreLost extends Error {
  override readonly name = "StoreLost";
}

/** A start that cannot go on; `kite doctor` explains it. */
export class JournalDamaged extends Error {
  override readonly name = "JournalDamaged";
}
