import { leadLimits } from "./lead/limits.ts";
import { guardLimits } from "./limits/guard.ts";
import { journalLimits } from "./limits/journal.ts";
import { rescueLimits } from "./limits/rescue.ts";
import { storeLimits } from "./limits/store.ts";
import { wireLimits } from "./limits/wire.ts";

/**
 * Every bound of Kite. Durations end in `Ms`, sizes in `Bytes`, counts in `Max`.
 * Invariant: a client that exceeds a bound gets a refusal with its own code; other clients are not affected.
 */
export const limits = {
  ...wireLimits,
  ...leadLimits,

  // Strings and lists of a request.
  idBytes: 200,
  nameBytes: 80,
  /** Longest name made of a title, a branch or a directory, in UTF-16 units; and the names of ended sessions kept. */
  sayableChars: 24,
  sessionNamesKeptMax: 5_000,
  pathBytes: 4096,
  filesMax: 1000,
  /** Longest name of a resource, with its @. */
  resourceChars: 64,
  rowsDefault: 200,
  rowsMax: 1000,
  /** Rows of one kind that a command fetches to show. */
  rowsShownMax: 10_000,

  // Locks.
  /** Answers that repeat a grant before it counts as delivered, so that undelivered ones no longer undo it. */
  grantAnswersMax: 4,
  /** Waiters of one file, by default. */
  queueDepth: 3,
  /** Waiters of one file when the hooks ask. */
  hookQueueDepth: 16,
  /** Wait for a lock, by default. */
  waitMs: 30_000,
  /** Wait of a hook; shorter than the hook entry's own time limit. */
  hookWaitMs: 50_000,
  waitMaxMs: 600_000,
  /** A turn lock untouched this long yields to a waiter; shorter than `hookWaitMs`. */
  yieldMs: 15_000,
  /** Waiters that one step grants; later steps grant further ones. */
  grantsPerStepMax: 250,
  /** Locks of one session, and files that its waiters name, together. */
  locksPerSessionMax: 10_000,
  /** Files that one session's waiters name: one step must end them all with the session. */
  queuedPerSessionMax: 5_000,
  /** A waiter that lost its connection, or whose hook timed out, keeps its queue position this long. */
  placeMs: 60_000,
  /** Writes in flight kept after their lock ended. */
  expiredWritesMax: 1_000,
  /** After /clear a session's locks wait this long for its process to go on under another id. */
  suspendMs: 10_000,
  /** The lease of a turn lock, from its last touch. */
  turnLeaseMs: 600_000,
  /** The lease of a lock for one shell command, which the client ends after 120 s by default. */
  commandLeaseMs: 150_000,
  /** The lease of an explicit lock of a session without anchor, from its last sign of life. */
  explicitLeaseMs: 600_000,
  /** The lease of a lock on a resource that no running command holds, from its holder's latest request. */
  resourceLeaseMs: 600_000,
  /** Files named in one event; `more` counts the rest. */
  eventFilesMax: 100,
  /** After a restart, a lock bound to a connection waits this long for its client to reconnect. */
  boundGraceMs: 10_000,

  // Tasks.
  /** Tasks of all projects together, and of one project. */
  tasksMax: 200_000,
  tasksPerProjectMax: 150_000,
  /** Projects whose task numbers go on where they were, those without tasks included. */
  numberedProjectsMax: 10_000,
  /** Longest description, and longest result, in UTF-16 units; and the texts of all tasks together. */
  taskTextChars: 8_192,
  tasksTextChars: 64 * 1024 * 1024,
  taskLabelsMax: 16,
  taskDependenciesMax: 100,
  /** Tasks that depend on one: all of them become ready in the step that ends it. */
  taskDependentsMax: 2_000,
  /** Tasks created, imported or removed by one request. */
  tasksPerRequestMax: 1_000,
  /** Failed attempts after which a task has failed. */
  taskAttemptsMax: 3,
  /** Tasks that one session works on at a time. */
  claimsPerSessionMax: 1_000,
  /** Tasks, or debates, named in one refusal or event; `more` counts the rest. */
  idsNamedMax: 10,
  /** Tasks read for one page of a query. */
  tasksScannedMax: 20_000,

  // Sessions.
  /** Sessions before an idle one without a process must end to make room for the next. */
  sessionsMax: 10_000,
  /** Sessions in all: if no idle session can make room, only one with a process begins, up to this. */
  sessionsAnchoredMax: 20_000,
  /** Sessions of one process before its oldest idle one must end to make room. */
  sessionsPerProcessMax: 64,
  incarnationsMax: 8,
  agentsPerSessionMax: 1_000,
  /** Agents of a session that ended whose names are kept. */
  endedAgentsMax: 100,
  /** Silence after which a session without anchor counts as lost. */
  silenceMs: 300_000,
  /** Writes in flight of one actor in one file, where its client asks about several calls before the first runs. */
  flightsOfHoldMax: 16,
  /** A lost session's turn locks end after this. */
  lockDelayMs: 15_000,
  /** A lost session ends after this. */
  lostMs: 86_400_000,
  /** An ended id is kept this long, so that a late event does not begin the session again. */
  endedMs: 3_600_000,
  endedMax: 10_000,
  /** Interval of the checks of anchor processes. */
  anchorPollMs: 1_000,
  /** The interval once no client has been connected for `restAfterMs`. */
  restPollMs: 5_000,
  restAfterMs: 10_000,
  /** Interval of the looks at agents whose writes in flight this start did not see begin. */
  unseenLookMs: 5_000,
  /** Such a write stays in flight this long after the start, however soon its lock yields: one look takes place before. */
  unseenMinMs: 5_000,
  /** Open files kept per session. */
  touchedMax: 500,

  /** The same event of the same tool use gets the same decision this long. */
  decidedMs: 10_000,
  /** Calls without ids that are remembered by their words, and of those with the same words the ones that have not ended. */
  openCallsMax: 2_000,
  openCallsAlikeMax: 16,
  /** Files named in a description of a holder's work. */
  doingFilesMax: 3,
  /** Files whose latest writer is kept. */
  writersMax: 10_000,
  /** Two actors that wrote the same file within this get a notice. */
  conflictMs: 600_000,
  /** Reported conflicts kept, of two actors and a file each. */
  conflictsToldMax: 10_000,
  /** A stopped session waits this long for a file that was refused to it. */
  wakeWaitMs: 600_000,
  /** The same for the lead of agents that work: one of them may stall. */
  wakeLeadMs: 14_400_000,
  /** Times that a session is woken between two prompts of a person. */
  wakesMax: 3,
  /** A session is woken for notices on its work at most once in this time. */
  wakeNoticeMs: 60_000,
  /** Refused files kept of one turn. */
  refusedFilesMax: 100,

  // Calls through a shared process.
  /** Sessions, and locks, shown to an agent that asks. */
  mcpRowsMax: 50,
  /** Longest that `kite doctor` waits for the tools' program. */
  mcpStartMs: 10_000,
  /** How often a running daemon stores turns, questions and agents if they changed. */
  presenceSaveMs: 5_000,
  /** Sessions of which one turn of the event loop writes that. */
  presenceRowsPerTurn: 500,
  /** After a longer absence of the daemon, turns and questions of before say nothing. */
  presenceKeptMs: 600_000,
  /** Longest that `kite doctor` waits for a client to say its version. */
  clientVersionMs: 5_000,
  /** Longest that a client may take to say which hooks it trusts, its start included; and to end afterwards. */
  appServerMs: 20_000,
  appServerEndMs: 3_000,
  /** The latest decisions, and lines of the log, in a report of `kite doctor --bundle`. */
  bundleLinesMax: 200,
  /** The end of the log that such a report reads, in bytes. */
  bundleLogBytes: 128 * 1024,
  /** Characters of a sentence in such a report. */
  bundleTextChars: 500,
  /** Files and folders of Kite's directory that `kite doctor` measures at most. */
  measuredFilesMax: 5_000,
  /** Longest that one step of `kite doctor --fix` may take. */
  fixMs: 60_000,
  /** Messages shown at once. */
  mcpInboxMax: 20,
  /** Interval of a waiting call's progress notices. */
  mcpProgressMs: 5_000,

  // Trial merges.
  /** Pairs of branches tried in one run, and the run's longest time. */
  riskPairsMax: 200,
  riskMs: 30_000,

  ...guardLimits,
  ...journalLimits,
  ...rescueLimits,
  ...storeLimits,

  // Retries.
  /** The same `requestId` gets the same reply this long. */
  replyKeptMs: 600_000,
  repliesMax: 100_000,
  /** All kept replies together, as JSON in UTF-16 units. */
  repliesChars: 16 * 1024 * 1024,

  // Timers.
  /** With more timers than this, each added one makes the scheduler check `timersSwept` others and drop the stale. */
  timersUnsweptMax: 1_000,
  timersSwept: 4,

  // Facts of the outside world.
  /** Work time of one fact on a filesystem that may hang. */
  factMs: 250,
  /** The same, for a command that a person typed. */
  commandFactMs: 5_000,
  /** The same, on a local disk, which may be slow but answers. */
  factLocalMs: 5_000,
  /** Elapsed time of one fact; less than a guarded command's or an edit's hook waits. */
  factTimeMs: 10_000,
  /** The step of a work clock. */
  workBeatMs: 25,
  /** A process that waited for a processor counts as starved for this long. */
  starvedMs: 1_000,
  factsPerDeviceMax: 2,
  /** Questions to local filesystems in one turn of the event loop; each takes a few microseconds. */
  factsPerTurnMax: 64,
  hashBytes: 8 * 1024 * 1024,
  /** Longest file of a local disk that is read whole in the daemon's own thread. */
  readHereBytes: 256 * 1024,
  /** A directory seen on a local filesystem counts as local this long. */
  directoryKeptMs: 5_000,
  directoriesMax: 10_000,
  /** Requested file names whose resolved paths are cached. */
  namesKeptMax: 10_000,
  /** Longest glob. */
  globBytes: 256,
  /** Names of a directory read to detect case folding. */
  namesSeenMax: 32,
  /** The table of mounts is cached this long. */
  mountsKeptMs: 1_000,
  /** Symbolic links followed for one path. */
  symlinksMax: 40,
  /** The facts of a working directory's repository are cached this long. */
  repositoryKeptMs: 2_000,
  repositoriesMax: 1_000,
  /** Paths of a project for which the answer is kept whether a lock is needed. */
  ignoreAnswersMax: 256,
  /** Longest small file (configuration, a repository's `HEAD`) that is read. */
  smallFileBytes: 64 * 1024,
  /** Anchor processes checked before other work's turn. */
  anchorBatchMax: 256,
  /** Timers proposed in one turn of the event loop; further ones follow in the next turns. */
  turnTimersMax: 100,
  /** Files of processes in the process table that are kept open, two of each process. */
  statsOpenMax: 512,
  /** Looks at a process in a row that see only whether it lives, and not whether a signal stopped it. */
  briefLooksMax: 1,
  /** Longest file of a process in the process table; its name has 64 characters at most. */
  statBytes: 4096,

  // The daemon.
  /** Longest time of a shutdown. */
  shutdownMs: 2_000,
  /** A starter waits this long for a killed daemon to release lock and socket. */
  startWaitMs: 5_000,
  /** Pause between the starter's tries. */
  startRetryMs: 50,
  /** Longest time of a program that takes or tests the daemon's lock. */
  lockProgramMs: 2_000,
  /** Without sessions the daemon ends itself after this. */
  idleExitMs: 1_800_000,
  /** How long status and doctor say that a start found less than there had been; longer than a weekend. */
  shortStartToldMs: 3 * 24 * 60 * 60 * 1000,
  /** Interval of the blank lines to a half-closed connection that still waits. */
  probeMs: 2_000,
  logBytes: 8 * 1024 * 1024,
  logFilesMax: 3,
  /** Locks of a session that its status line looks at. */
  glanceLocksMax: 100,
  /** Kinds of hook events counted by name; further kinds share one counter. */
  hookKindsMax: 100,
  /** Latest refusals kept for `kite status`. */
  refusalsMax: 20,

  // The client library.
  /** The client waits this long for an answer, beyond a lock request's own `waitMs`. */
  requestMs: 10_000,
  /** First pause before reconnecting to a daemon; it doubles up to the second value. */
  retryFirstMs: 20,
  retryPauseMaxMs: 500,
  /** A connection that lived this long resets the pause to the first one. */
  soundConnectionMs: 1_000,
  /** Longest time from a daemon's start until it is ready: it reads its journal. */
  startReadyMs: 60_000,

  // The hook clients.
  firstByteMs: 1_000,
  /** A hook whose answer takes longer gets a blank line after this; much less than `firstByteMs`. */
  hookSilenceMs: 250,
  reconnectMs: 5_000,
  /** How long a client that is about to exit waits for a daemon that may return. */
  lastTryMs: 300,
  /**
   * Unanswered hooks within the window that begin a pause. During it hooks fail open without asking, but hooks that
   * wait before a tool ask with `hookBriefMs` for the first byte. A daemon that answers ends the pause.
   */
  hookFailuresMax: 3,
  hookFailuresWindowMs: 60_000,
  hookPauseMs: 30_000,
  hookBriefMs: 100,
  /** A hook that lost its connection reconnects after this. */
  hookRetryMs: 50,
  /** What the hook clients keep of ends that no daemon took; then the older half goes. */
  unheardEndsBytes: 256 * 1024,
  /** Sessions kept that have already shown the notice that Kite does not answer. */
  toldSessionsMax: 100,
  /** Longest time of a hook for one event; a write's is longer than `hookWaitMs`. */
  hookStartBudgetMs: 3_000,
  hookTurnBudgetMs: 1_000,
  hookWriteBudgetMs: 52_000,
  /** The longest wait of an edit in a client whose person cannot end a held hook, and the hook's time around it. */
  hookShortWaitMs: 15_000,
  hookShortWriteBudgetMs: 17_000,
  /** Time limits of the entries in the client's settings: longer than the budgets, or the client lets the tool run. */
  hookStartTimeoutMs: 6_000,
  hookTurnTimeoutMs: 3_000,
  hookWriteTimeoutMs: 75_000,
  hookShortWriteTimeoutMs: 30_000,
  /** The same for asynchronous events. */
  hookObserverBudgetMs: 5_000,
  hookObserverTimeoutMs: 7_000,
  /** The same for the hook that may wake its session; a little longer than `wakeLeadMs`. */
  hookWakeBudgetMs: 14_405_000,
  hookWakeTimeoutMs: 14_410_000,

  // What an agent reads.
  /** Longest piece of another agent's text, in UTF-16 units. */
  quoteChars: 200,
  /** Sessions, and files, in the notice to a session that starts. */
  noteRowsMax: 10,
  /** Line ranges named of one change of a file. */
  changedRangesMax: 3,
  /** Writes in flight that the end of one batch of calls ends. */
  batchWritesMax: 100,

  // Context.
  /** One value as JSON. */
  contextValueBytes: 256 * 1024,
  /** All keys and values of all projects. */
  contextBytes: 64 * 1024 * 1024,
  contextKeysMax: 10_000,
  contextTtlMaxMs: 30 * 24 * 60 * 60 * 1000,
  /** A durable key that nobody read or wrote for so long is announced as one that goes. */
  contextUnusedMs: 23 * 24 * 60 * 60 * 1000,
  /** From then on it stays for so long, unless somebody reads or writes it. */
  contextLeavesMs: 7 * 24 * 60 * 60 * 1000,
  /** Reads of a key are noted once in so long. */
  contextReadMs: 24 * 60 * 60 * 1000,

  // Messages.
  messageBytes: 16 * 1024,
  /** Messages in one inbox; a full one evicts its oldest read message. */
  inboxMax: 1_000,
  /** Acknowledged messages that the daemon still shows, and their texts together. */
  acknowledgedMax: 500,
  acknowledgedBytes: 256 * 1024,
  /** Texts of all messages together. */
  messagesBytes: 64 * 1024 * 1024,
  /** Messages of one session within `messageRateMs`. */
  messageRateMax: 20,
  messageRateMs: 60_000,
  /** Messages that one answer shows an agent, and UTF-16 units of their texts together. */
  shownMessagesMax: 3,
  shownMessagesChars: 1_500,
  /** Recipients named in a refusal of an ambiguous or unknown name. */
  recipientsNamedMax: 10,

  // Freezes.
  freezeMaxMs: 600_000,
  freezesPerActorMax: 2,
  /** Freezes of all actors together: every lock request checks them. */
  freezesMax: 1_000,
  holdFilesMax: 100,

  // Switching off.
  /** Projects and sessions that are switched off at a time. */
  silencedMax: 1_000,
  /** Longest time until a switched-off project or session is on again by itself. */
  offForMs: 365 * 24 * 60 * 60 * 1000,

  // Installation.
  /** Longest settings file that is read. */
  settingsBytes: 4 * 1024 * 1024,
  /** Tries to change a file that other programs keep writing. */
  settingsTriesMax: 5,
  /** Longest state file of the client that is read: it holds more than settings. */
  clientFileBytes: 64 * 1024 * 1024,
} as const;

/** Bounds by the same names; those of a test may be smaller. */
export type Limits = Readonly<Record<keyof typeof limits, number>>;
