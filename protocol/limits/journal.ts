/** Bounds of the journal and of the trail; part of `limits`. */
export const journalLimits = {
  // Journal.
  segmentBytes: 64 * 1024 * 1024,
  /** Longest write to the journal, and so the longest torn write at its end. */
  recordBytes: 4 * 1024 * 1024,
  /** Bytes of the journal that a start reads at once. */
  journalReadBytes: 1024 * 1024,
  /** Sessions, and files, that a start keeps as one object each while it reads; then it begins anew. */
  knownNamesMax: 32_768,
  /** Longest name of these, with the folders before it, that is found by its bytes. */
  knownNameBytes: 512,
  /** First size of the buffer for a write, and the largest that is kept for the next one. */
  writeBufferBytes: 64 * 1024,
  writeBufferKeptBytes: 1024 * 1024,
  /**
   * Entries stored and applied in one turn of the event loop; further ones follow in the next turns. An entry that changes
   * many rows counts as so many, and the end of a session as `sessionEndCost` and one for each of its rows.
   */
  turnEntriesMax: 500,
  sessionEndCost: 8,
  /** Entries that may become durable before the manifest is renamed again. */
  manifestEntries: 64,
  /** Entries after the last snapshot before the next one is taken. */
  snapshotEntries: 100_000,
  /** A start that replayed so many takes a snapshot before it serves, so that short lives do not add up to a long replay. */
  startSnapshotEntries: 10_000,
  snapshotsKept: 2,
  /** A larger state, with the journal after its snapshot, is not written again at a stop. */
  stopSnapshotBytes: 8 * 1024 * 1024,
  /** Space reserved on disk so that a full disk still takes unlocks. */
  reserveBytes: 1024 * 1024,
  /** Interval of the retries on a full disk. */
  fullRetryMs: 1_000,
  /** Tries to begin a new epoch before a start fails. */
  startTriesMax: 5,
  /** Throwing handlers within the window that stop the daemon. */
  throwsMax: 3,
  throwsWindowMs: 600_000,

  // Trail.
  trailBytes: 8 * 1024 * 1024,
  trailFilesMax: 8,
  /** Trail lines queued for writing before the daemon drops and counts further ones. */
  trailQueueMax: 10_000,
  /** Longest delay before trail lines are written, and lines written at once. */
  trailFlushMs: 50,
  trailBatchMax: 512,
  /** Actors whose part of a trail line is kept for their next one. */
  trailActorsKept: 256,
  /** Bytes of trail lines that are written at once. */
  trailPieceBytes: 64 * 1024,
  /** Longest text of one field of a trail line, in UTF-16 units. */
  trailFieldChars: 4096,
  /** Longest trail line that is read, and lines read at once. */
  trailLineBytes: 64 * 1024,
  trailReadMax: 10_000,

  // Events, and those who subscribe to them.
  /** Events kept for subscribers that reconnect: entries and bytes. */
  ringEntriesMax: 10_000,
  ringBytes: 8 * 1024 * 1024,
  /** Longest file of events that a start reads. */
  eventFileBytes: 64 * 1024 * 1024,
  /**
   * Events in a row that a subscriber's filter leaves out before it gets a bare cursor. A large event counts as several, so
   * that these fill half of the ring at most.
   */
  bookmarkEvents: 4_000,
} as const;
