/** Bounds of the journal over PostgreSQL. A test gives smaller ones. */
import { limits } from "../../../protocol/limits.ts";

export interface StoreBounds {
  /** One try to connect, with the login. */
  readonly connectMs: number;
  /** One statement; after it the connection is given up, and whether the statement took effect is unknown. */
  readonly statementMs: number;
  /** The first pause after a failure, and the longest one: each is twice the one before. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** A proposal that was sent to no store by then is refused: it was not stored. */
  readonly waitMs: number;
  /** A proposal that was sent, and of which nothing is known by then, fails as `unknown`. */
  readonly answerMs: number;
  /** After so long without the store a barrier passes with what is known. */
  readonly barrierMs: number;
  /** How often the log is read without a notification: soon after an entry, then ever less. */
  readonly pollMinMs: number;
  readonly pollMaxMs: number;
  /** The same while notifications arrive: a look whether the connection still lives. */
  readonly heardPollMs: number;
  /** From one read to the next that only notifications of other nodes' entries ask for. */
  readonly newsPauseMs: number;
  /** How often this node writes down how far it has read. */
  readonly renewMs: number;
  /** A node that was seen within this time is not taken by a start of another machine. */
  readonly holdMs: number;
  /** A node of which nothing was heard for so long keeps no entries: it begins with a snapshot when it comes back. */
  readonly absentMs: number;
  /** Proposals that wait, and their texts together; further ones are refused. */
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
  /** One append, and one page of the log that is read; at least one entry, whatever its size. */
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
  readonly pageEntriesMax: number;
  readonly pageBytesMax: number;
  /** The longest command. */
  readonly recordBytes: number;
  readonly snapshotsKept: number;
  /** One row of a snapshot. */
  readonly pieceBytes: number;
  /** A snapshot of another node that is at most so many entries older is as good as a new one. */
  readonly nearEntries: number;
  /** A snapshot of which no piece came for so long is given up, and removed. */
  readonly unfinishedMs: number;
  /** Entries removed by one statement. */
  readonly pruneEntriesMax: number;
}

export const storeBounds: StoreBounds = {
  connectMs: 5_000,
  statementMs: 5_000,
  retryMinMs: 50,
  retryMaxMs: 5_000,
  waitMs: 5_000,
  answerMs: 10_000,
  barrierMs: 2_000,
  pollMinMs: 100,
  pollMaxMs: 1_000,
  heardPollMs: 5_000,
  newsPauseMs: 50,
  renewMs: 20_000,
  holdMs: 60_000,
  absentMs: 24 * 3_600_000,
  waitingMax: 10_000,
  waitingBytesMax: 16 * 1024 * 1024,
  batchEntriesMax: limits.turnEntriesMax,
  batchBytesMax: 4 * 1024 * 1024,
  pageEntriesMax: 1_000,
  pageBytesMax: 4 * 1024 * 1024,
  recordBytes: limits.recordBytes,
  snapshotsKept: limits.snapshotsKept,
  pieceBytes: 256 * 1024,
  nearEntries: 10_000,
  unfinishedMs: 60_000,
  pruneEntriesMax: 5_000,
};
