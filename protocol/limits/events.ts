/** Bounds of events and of those who subscribe to them; part of `limits`. */
export const eventLimits = {
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
