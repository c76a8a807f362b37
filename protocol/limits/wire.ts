/** Bounds of lines, replies and connections; part of `limits`. */
export const wireLimits = {
  /** Longest request or reply line. */
  lineBytes: 1024 * 1024,
  /** Longest line that begins `{"type":"hook"`: an edit's payload holds the whole file. */
  hookLineBytes: 32 * 1024 * 1024,
  /** A hook sends a long event in pieces of this length: a daemon that takes one is not silent. */
  hookPieceBytes: 256 * 1024,
  /** Lines that wait for their newline or their turn, over all connections together. */
  unfinishedBytes: 128 * 1024 * 1024,
  /** Nesting of a request, the outermost object counted. */
  nestingMax: 32,
  /** Nesting inside the `event` of a `hook` request. */
  hookNestingMax: 128,
  /** Objects and lists in a line longer than `lineBytes`: parsing many costs far more than its length. */
  containersMax: 200_000,
  /** Requests in flight on one connection before reading pauses; waiting locks do not count. */
  inFlightMax: 256,
  /** Requests taken from one connection before the next connection's turn. */
  batchMax: 64,
  /** Unread replies of a client before the daemon closes its connection. */
  unreadReplyBytes: 4 * 1024 * 1024,
  /** Unread bytes of a client before its next long answer waits. */
  unreadAnswerBytes: 64 * 1024,
  /** About as much of a long answer as one turn of the event loop makes before other requests' turn. */
  turnBytes: 64 * 1024,
  /** Unread events of a subscriber before its stream stops until it drains. */
  unreadEventBytes: 1024 * 1024,
  /** Pending connections in the kernel's listen queue. */
  backlog: 4096,
  /** Answers sent in one turn of the event loop; further ones leave in the next turns. */
  turnAnswersMax: 500,
  /** Events of one step sent in one turn of the event loop; further ones leave in the next turns. */
  turnEventsMax: 100,
  /** Events sent to all subscribers in one turn of the event loop; further ones leave in the next turns. */
  turnSendsMax: 500,
  /** File descriptors reserved for hooks, and the free ones below which the daemon gives up this reserve. */
  descriptorsReserved: 64,
  descriptorsSpare: 16,
  /** File descriptors that only the pipes of git may take: six for a child, and what starting it needs. */
  descriptorsForGit: 12,
  /** With fewer free file descriptors at its start than this, the daemon says that it needs more. */
  descriptorsWanted: 96,
  /** With fewer connections than this, the daemon does not check for free descriptors. */
  connectionsUnchecked: 8,
  /** Text of a mount table, its lines, and the pairs of `KITE_MOUNTS`. */
  mountTableBytes: 256 * 1024,
  mountRowsMax: 4_096,
  mountPairsMax: 64,
  /** Containers whose mounts the daemon remembers, and how long it takes its own mount table to be the same, in ms. */
  mountViewsMax: 64,
  mountTableKeptMs: 1_000,
  /** Longest socket path: Node 20 and 22 cut longer ones without an error. */
  socketPathBytes: 103,
} as const;
