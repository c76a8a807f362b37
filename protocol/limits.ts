import { guardLimits } from "./limits-guard.ts";

/**
 * Every bound of Kite, in one place. Durations end in `Ms`, sizes in `Bytes`, counts in `Max`.
 * Who exceeds one is refused by name; the others notice nothing.
 */
export const limits = {
  // The wire.
  /** Longest request or reply line. */
  lineBytes: 1024 * 1024,
  /** Longest line that begins `{"type":"hook"`: an edit's payload holds the whole file. */
  hookLineBytes: 32 * 1024 * 1024,
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
  /** Requests taken from one connection before the next one has its turn. */
  batchMax: 64,
  /** Replies not yet read by a client before its connection is closed. */
  unreadReplyBytes: 4 * 1024 * 1024,
  /** Bytes not yet read by a client that asks for long answers before it gets the next one. */
  unreadAnswerBytes: 64 * 1024,
  /** Long answers: with each turn of the event loop about so much of them is made, then others are served. */
  turnBytes: 64 * 1024,
  /** Events not yet read by a subscriber before its stream stops until it drains. */
  unreadEventBytes: 1024 * 1024,
  /** Pending connections the kernel keeps for us. */
  backlog: 4096,
  /** Answers that leave in one turn of the event loop; those beyond leave with the next ones. */
  turnAnswersMax: 500,
  /** Events of one step that are sent at once; more of them take turns, as long answers do. */
  turnEventsMax: 100,
  /** File descriptors that are kept for hooks, and how many others are to be free before these are given up. */
  descriptorsReserved: 64,
  descriptorsSpare: 16,
  /** With fewer connections than this nobody looks whether descriptors run short. */
  connectionsUnchecked: 8,
  /** Longest socket path: Node 20 and 22 cut longer ones without a word. */
  socketPathBytes: 103,

  // Strings and lists of a request.
  idBytes: 200,
  nameBytes: 80,
  pathBytes: 4096,
  filesMax: 1000,
  rowsDefault: 200,
  rowsMax: 1000,
  /** Rows of one kind that a command fetches to show. */
  rowsShownMax: 10_000,

  // Locks.
  /** Answers that repeat a grant before it counts as heard: it is not undone for undelivered ones any more. */
  grantAnswersMax: 4,
  /** Waiters of one file, as published. */
  queueDepth: 3,
  /** Waiters of one file when the hooks ask. */
  hookQueueDepth: 16,
  /** Wait for a lock, as published. */
  waitMs: 30_000,
  /** Wait of a hook; shorter than the hook entry's own time limit. */
  hookWaitMs: 50_000,
  waitMaxMs: 600_000,
  /** A turn hold untouched this long yields to a waiter; shorter than `hookWaitMs`. */
  yieldMs: 15_000,
  /** Waiting requests that one step grants; those beyond are granted in steps of their own, one after the other. */
  grantsPerStepMax: 250,
  /** Locks of one session, and files that its requests in line name, together. */
  locksPerSessionMax: 10_000,
  /** The latter alone: the end of a session, with all that it waits for, is one step. */
  queuedPerSessionMax: 5_000,
  /** A waiter that lost its connection, or whose hook timed out, keeps its place this long. */
  placeMs: 60_000,
  /** Writes remembered whose hold ended before they did. */
  expiredWritesMax: 1_000,
  /** After /clear a session's locks wait this long for its process to go on under another id. */
  suspendMs: 10_000,
  /** A turn hold untouched this long is over. */
  turnLeaseMs: 600_000,
  /** The same of what is held for one shell command: the client ends one after 120 s unless told otherwise. */
  commandLeaseMs: 150_000,
  /** A session without anchor keeps explicit locks this long after its last sign of life. */
  explicitLeaseMs: 600_000,
  /** Files named in one event; `more` counts the rest. */
  eventFilesMax: 100,
  /** After a restart, a lock bound to a connection waits this long for its client to come back. */
  boundGraceMs: 10_000,

  // Tasks.
  /** All together, and those of one project. */
  tasksMax: 200_000,
  tasksPerProjectMax: 150_000,
  /** Longest description, and longest result, in UTF-16 units; and the texts of all tasks together. */
  taskTextChars: 8_192,
  tasksTextChars: 64 * 1024 * 1024,
  taskLabelsMax: 16,
  taskDependenciesMax: 100,
  /** Tasks that depend on one: all of them become ready in the step that ends it. */
  taskDependentsMax: 2_000,
  /** Tasks created, imported or removed by one request. */
  tasksPerRequestMax: 1_000,
  /** So many failed attempts end a task. */
  taskAttemptsMax: 3,
  /** Tasks that one session works on at a time. */
  claimsPerSessionMax: 1_000,
  /** Tasks named in one refusal or event; `more` counts the rest. */
  tasksNamedMax: 10,
  /** Tasks looked at for one page of a query. */
  tasksScannedMax: 20_000,

  // Sessions.
  /** Where there are so many, one without a process that has nothing makes room, if there is such a one. */
  sessionsMax: 10_000,
  /** Where all have something, one with a process begins all the same while there are fewer than this. */
  sessionsAnchoredMax: 20_000,
  /** Sessions for which one process stands: of more, the oldest that has nothing makes room. */
  sessionsPerProcessMax: 64,
  incarnationsMax: 8,
  agentsPerSessionMax: 1_000,
  /** Without anchor: silence after which a session counts as lost. */
  silenceMs: 300_000,
  /** Turn holds of a lost session go after this. */
  lockDelayMs: 15_000,
  /** A lost session is forgotten after this. */
  lostMs: 86_400_000,
  /** An ended id is remembered this long, so that a late event does not bring it back. */
  endedMs: 3_600_000,
  endedMax: 10_000,
  /** How often anchor processes are looked at. */
  anchorPollMs: 1_000,
  /** Files remembered as open per session. */
  touchedMax: 500,

  /** A hook's decision is given again to the same event of the same tool use this long. */
  decidedMs: 10_000,
  /** Files named when it is told what a holder does. */
  doingFilesMax: 3,
  /** Latest writers remembered, by file. */
  writersMax: 10_000,
  /** Two actors that wrote the same file within this are told of each other. */
  conflictMs: 600_000,
  /** Pairs of actors of which it is remembered that they were told so. */
  conflictsToldMax: 10_000,
  /** A session that stopped hears this long of a file that was refused to it. */
  wakeWaitMs: 600_000,
  /** Times it is woken between two prompts of a person. */
  wakesMax: 3,
  /** Refused files remembered of one turn. */
  refusedFilesMax: 100,

  // Calls through a shared process.
  /** Longest that a command asks who types it. */
  whoamiMs: 5_000,
  /** As much of a shell line is remembered while it runs, in UTF-16 units. */
  typedChars: 4_096,
  /** Sessions, and locks, told to an agent that asks. */
  mcpRowsMax: 50,
  /** Longest that `kite doctor` waits for the tools' program. */
  mcpStartMs: 10_000,
  /** Messages told at once. */
  mcpInboxMax: 20,
  /** How often a waiting call tells how it goes. */
  mcpProgressMs: 5_000,
  /** Latest tool uses whose actors are remembered. */
  toolUsesMax: 1_000,

  // Trial merges.
  /** Pairs of branches that are tried at a time, and what all of it may take. */
  riskPairsMax: 200,
  riskMs: 30_000,

  ...guardLimits,

  // Retries.
  /** The same `requestId` gets the same reply this long. */
  replyKeptMs: 600_000,
  repliesMax: 100_000,
  /** The same together, as JSON in UTF-16 units. */
  repliesChars: 16 * 1024 * 1024,

  // Events.
  /** Events kept for subscribers who come back: entries and bytes. */
  ringEntriesMax: 10_000,
  ringBytes: 8 * 1024 * 1024,
  /** Longest file of events that a start reads. */
  eventFileBytes: 64 * 1024 * 1024,
  /** A subscriber that wanted none of so many events in a row gets a cursor without an event. */
  bookmarkEvents: 1_000,

  // What is due later.
  /** With more timers than this, each that is added has some others looked at, and those that are over dropped. */
  timersUnsweptMax: 1_000,
  timersSwept: 4,

  // Journal.
  segmentBytes: 64 * 1024 * 1024,
  /** One write to the journal; a torn write at its end is no longer. */
  recordBytes: 4 * 1024 * 1024,
  /** Entries stored and applied in one turn of the event loop; those beyond have their place in the next ones. */
  turnEntriesMax: 500,
  /** Entries that may have become durable since the manifest was renamed last. */
  manifestEntries: 64,
  /** Entries after the last snapshot before the next one is taken. */
  snapshotEntries: 100_000,
  snapshotsKept: 2,
  /** Space set aside on disk so that unlocks can be written when it is full. */
  reserveBytes: 1024 * 1024,
  /** How often a full disk is tried again. */
  fullRetryMs: 1_000,
  /** Tries to begin a new epoch before a start fails. */
  startTriesMax: 5,
  /** Handlers that throw: this many within the window stop the daemon. */
  throwsMax: 3,
  throwsWindowMs: 600_000,

  // Facts of the outside world.
  /** Work that one fact may take on a filesystem that may hang. */
  factMs: 250,
  /** The same for a command that a person typed. */
  commandFactMs: 5_000,
  /** The same on a local disk, which may be slow but comes back. */
  factLocalMs: 5_000,
  /** One fact ends after this however little of it was work; less than a guarded command's or an edit's hook waits. */
  factTimeMs: 10_000,
  /** A work clock counts in steps of this. */
  workBeatMs: 25,
  /** A process that had to wait for a processor counts as one that has to for as long. */
  starvedMs: 1_000,
  factsPerDeviceMax: 2,
  hashBytes: 8 * 1024 * 1024,
  /** A directory seen on a local filesystem is taken for local this long. */
  directoryKeptMs: 5_000,
  directoriesMax: 10_000,
  /** File names, as requests spell them, that are kept with what was found out for them. */
  namesKeptMax: 10_000,
  /** Longest glob. */
  globBytes: 256,
  /** Names of a directory looked at to see which spellings it takes for one. */
  namesSeenMax: 32,
  /** The table of mounts is read again after this. */
  mountsKeptMs: 1_000,
  /** Symbolic links followed for one path. */
  symlinksMax: 40,
  /** What was read of a working directory's repository counts this long. */
  repositoryKeptMs: 2_000,
  repositoriesMax: 1_000,
  /** Longest small file (configuration, a repository's `HEAD`) that is read. */
  smallFileBytes: 64 * 1024,
  /** Processes looked at in one go before others have their turn. */
  anchorBatchMax: 256,

  // The daemon.
  /** Shutdown leaves within this. */
  shutdownMs: 2_000,
  /** A starter waits this long for a daemon that was just killed to let go. */
  startWaitMs: 5_000,
  /** Between its tries. */
  startRetryMs: 50,
  /** What a program that takes or tries the daemon's lock may need. */
  lockProgramMs: 2_000,
  /** Without sessions the daemon ends itself after this. */
  idleExitMs: 1_800_000,
  /** Blank line to a half-closed connection that still waits. */
  probeMs: 2_000,
  logBytes: 8 * 1024 * 1024,
  logFilesMax: 3,
  trailBytes: 8 * 1024 * 1024,
  trailFilesMax: 4,
  /** Trail lines waiting to be written before further ones are dropped and counted. */
  trailQueueMax: 10_000,
  /** Trail lines wait this long for company, and are written this many at once. */
  trailFlushMs: 50,
  trailBatchMax: 512,
  /** Longest text of one field of a trail line, in UTF-16 units. */
  trailFieldChars: 4096,
  /** Longest trail line that is read, and lines of one reading. */
  trailLineBytes: 64 * 1024,
  trailReadMax: 10_000,
  /** Kinds of hook events that are counted by name; those beyond count together. */
  hookKindsMax: 100,
  /** Latest refusals kept for `kite status`. */
  refusalsMax: 20,

  // The client library.
  /** An answer is awaited this long, beyond the wait that a lock request itself asks for. */
  requestMs: 10_000,
  /** First pause before coming back to a daemon that went away; it doubles up to the second. */
  retryFirstMs: 20,
  retryPauseMaxMs: 500,
  /** A connection that lived this long counts as sound: the next pause is the first one again. */
  soundConnectionMs: 1_000,
  /** A started daemon may read its journal this long before it says that it is ready. */
  startReadyMs: 60_000,

  // The hook clients.
  firstByteMs: 1_000,
  /** A hook whose answer takes longer hears this late that the daemon works at it; much less than `firstByteMs`. */
  hookSilenceMs: 250,
  reconnectMs: 5_000,
  /** How long a client that is about to leave waits for a daemon that went away and may be back. */
  lastTryMs: 300,
  /**
   * So many hooks without an answer within the window: for a pause, hooks let go without asking, and those that wait
   * before a tool ask with `hookBriefMs` for the first byte. A daemon that goes on ends the pause.
   */
  hookFailuresMax: 3,
  hookFailuresWindowMs: 60_000,
  hookPauseMs: 30_000,
  hookBriefMs: 100,
  /** Sessions remembered as having been told that Kite does not answer. */
  toldSessionsMax: 100,
  /** What a hook may spend on one event; a write's is longer than `hookWaitMs`. */
  hookStartBudgetMs: 3_000,
  hookTurnBudgetMs: 1_000,
  hookWriteBudgetMs: 52_000,
  /** Time limits of the entries in the client's settings: longer than the budgets, or the client lets the tool run. */
  hookStartTimeoutMs: 6_000,
  hookTurnTimeoutMs: 3_000,
  hookWriteTimeoutMs: 75_000,
  /** The same for events that nobody waits for. */
  hookObserverBudgetMs: 5_000,
  hookObserverTimeoutMs: 7_000,
  /** The same for the one that may wake its session; a little longer than `wakeWaitMs`. */
  hookWakeBudgetMs: 605_000,
  hookWakeTimeoutMs: 610_000,

  // What an agent reads.
  /** Longest piece of another agent's text, in UTF-16 units. */
  quoteChars: 200,
  /** Sessions, and files, named to a session that starts. */
  noteRowsMax: 10,
  /** Places named of one change of a file. */
  changedRangesMax: 3,
  /** Writes that the end of one batch of calls ends. */
  batchWritesMax: 100,

  // Context.
  /** One value as JSON. */
  contextValueBytes: 256 * 1024,
  /** All keys and values of all projects. */
  contextBytes: 64 * 1024 * 1024,
  contextKeysMax: 10_000,
  contextTtlMaxMs: 30 * 24 * 60 * 60 * 1000,

  // Messages.
  messageBytes: 16 * 1024,
  /** Messages in one inbox; where it is full, the oldest that was read makes room. */
  inboxMax: 1_000,
  /** Texts of all messages together. */
  messagesBytes: 64 * 1024 * 1024,
  /** Messages of one session within `messageRateMs`. */
  messageRateMax: 20,
  messageRateMs: 60_000,
  /** What an agent is shown of its inbox at a time: messages, and UTF-16 units of their texts together. */
  shownMessagesMax: 3,
  shownMessagesChars: 1_500,
  /** Named where a recipient is ambiguous, or nobody has the name. */
  recipientsNamedMax: 10,

  // Holds.
  holdMaxMs: 600_000,
  holdsPerActorMax: 2,
  /** Of all actors together: every request for a lock looks at them. */
  holdsMax: 1_000,
  holdFilesMax: 100,

  // Switching off.
  /** Projects and sessions that are off at a time. */
  silencedMax: 1_000,
  /** Longest time after which what is off is on again by itself. */
  offForMs: 365 * 24 * 60 * 60 * 1000,

  // Installation.
  /** Longest settings file that is read. */
  settingsBytes: 4 * 1024 * 1024,
  /** Tries to change a file that others write all the time. */
  settingsTriesMax: 5,
  /** Longest file of the client's own that is read: it keeps more than settings there. */
  clientFileBytes: 64 * 1024 * 1024,
} as const;
