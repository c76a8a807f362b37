/** The bounds of the page and its server. Durations end in `Ms`, sizes in `Bytes`, counts in `Max`. */
export const bounds = {
  /** How long a code works, and how many unused ones do at a time. */
  codeMs: 60_000,
  codesMax: 8,
  /** How long a client may take to send the head of a request, and the whole of it. */
  headMs: 10_000,
  requestMs: 30_000,
  /** Open streams, connections, and what a request may carry. */
  streamsMax: 32,
  connectionsMax: 200,
  /** Connections that have not shown the token. Of more, the oldest is closed. */
  strangersMax: 100,
  bodyBytes: 64 * 1024,
  /** A page that reads slower than it is told is told again when it has read. */
  unreadBytes: 4 * 1024 * 1024,
  /** Least time between two looks at the daemon. */
  lookMs: 250,
  /** Pause before the next try to reach a daemon that is away, and the interval of blank lines on a stream. */
  retryMs: 1_000,
  blankMs: 15_000,
  /** Tasks, and projects whose debates are looked at. */
  tasksMax: 5_000,
  projectsMax: 20,
  /** Shortest and longest range of the timeline. */
  rangeMsMin: 1_000,
  rangeMs: 7 * 24 * 3_600_000,
  /** Holds, waits and other things of a timeline, its lanes, and ranges whose lines are kept between two questions. */
  timelineItemsMax: 20_000,
  lanesMax: 200,
  rangesKeptMax: 4,
  /** What a snapshot has of the timeline, and how many shared values it has if it has any. */
  snapshotMs: 3_600_000,
  snapshotValuesMax: 500,
} as const;
