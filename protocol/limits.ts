/** Every bound of Kite, by part, joined in `limits`. */

import { leadLimits } from "./lead/limits.ts";

/** Bounds of the guard over the working tree, and of parsing shell lines: a part of `limits`. */
const guardLimits = {
  /** Merge risks kept, of one file and two worktrees each. */
  mergeRisksMax: 1_000,
  /** Merge risks named in one notice. */
  mergeRisksTold: 3,
  /** Dirty files kept, and writers of each. */
  writesMax: 10_000,
  writersPerFileMax: 8,
  /** Settled files kept, since git may make their work uncommitted again; also those checked for one line. */
  settledWorkMax: 2_000,
  /** Stash entries whose makers are kept. */
  stashEntriesMax: 1_000,
  /** Commits whose authors are kept, and actors of one that may be any of theirs. */
  commitsKeptMax: 2_000,
  commitActorsMax: 8,
  /** Commits that one answer or notice names. */
  commitsShownMax: 5,
  /** Characters kept of the first line of a commit's message. */
  subjectChars: 100,
  /** The end of HEAD's log in which the commits of a script are looked for. */
  headLogBytes: 16 * 1024,
  /** Commits looked at between the old and the new place of a ref. */
  refCommitsMax: 1_000,
  /** Longest log of a stash list that is read, in bytes. */
  stashLogBytes: 256 * 1024,
  /** Longest `packed-refs` that is read, in bytes, and worktrees of a repository whose HEADs are. */
  packedRefsBytes: 4 * 1024 * 1024,
  worktreesReadMax: 256,
  /** How long ago HEAD's files changed, at least, before their stats stand for what was read. */
  headSettledMs: 100,
  /** How long a list shows a HEAD without another look, and the worktrees at whose HEADs a list looks. */
  headShownMs: 5_000,
  headsShownMax: 64,
  /** Worktrees whose HEAD is kept, to tell who moved it. */
  headRowsMax: 1_000,
  /** Names tried for a folder in which nothing is. */
  foldersTriedMax: 100,
  /** Stash entries that one answer or notice names. */
  stashesShownMax: 3,
  /** Work time of one check of uncommitted work, and its elapsed time. */
  guardMs: 5_000,
  guardTimeMs: 20_000,
  /** Longest time until a guarded command's hook gets its answer, even if it waits for an index. */
  guardAnswerMs: 51_000,
  /** Files checked for one command: those written last. */
  guardPathsMax: 500,
  guardPathsBytes: 100_000,
  /** Indexes whose git status is cached, and files of each. */
  guardIndexesMax: 100,
  guardIndexMax: 5_000,
  /** A shell line refused because of others' files passes if the agent sends it again within this. */
  guardToldMs: 600_000,
  /** Refused lines kept for this, and running lines; and the files of either, all lines together. */
  guardToldMax: 1_000,
  /** Commits that one command picks or reverts and whose files the guard reads. */
  changeCommitsMax: 200,
  guardToldFilesMax: 20_000,
  /** Latest commits that the guard reads when a line has ended, and characters shown of a commit's id. */
  guardCommitsMax: 20,
  commitIdChars: 10,
  /** Git processes of the daemon at a time, and bytes read from one. */
  gitAtOnceMax: 6,
  /** How long the daemon tries to start a git process that the machine has no room for: a hook waits for it. */
  gitCrowdedMs: 250,
  gitOutputBytes: 4 * 1024 * 1024,
  /** Longest entry of git's index as text, in UTF-16 units. */
  indexEntryChars: 16 * 1024,
  /** Worktrees checked for one answer about uncommitted work. */
  whoseWorktreesMax: 50,
  /** Files checked after a shell command. */
  shellFilesMax: 1_000,
  /** Directories that are watched for agents without hooks, and changes there that nothing explains yet. */
  watchedDirectoriesMax: 1_000,
  /** How long after a lock or a write the watched directories are looked up anew. */
  watchRefreshMs: 100,
  /** How long a hook has to explain a change, after the last sign of life of each agent that may have made it. */
  watchSettleMs: 1_000,
  /** A change that this long nobody could explain or make is forgotten. */
  watchForgetMs: 600_000,
  /** Longest delay of the event that a shell command has ended. */
  shellSlackMs: 2_000,
  /** Pending notices of one actor, and actors with pending notices. */
  fileNotesMax: 5,
  notedActorsMax: 1_000,
  /** A file's change within this time after a tool's write belongs to that write: a formatter, for example. */
  aftermathMs: 5_000,
  /** Files whose baseline is kept. */
  baselinesMax: 20_000,
  /** Worktrees checked for one command whose directory is unknown. */
  guardSupposedMax: 8,
  /** Files named in one finding. */
  guardFilesMax: 20,
  /** Foreign files that one answer shows an agent. */
  guardFilesShownMax: 5,
  /** Alternatives, and owners to ask, that one answer names. */
  guardWaysMax: 3,
  /** The agent's own paths in a suggested command, in UTF-16 units. */
  ownPathsChars: 1_000,
  /** The message of a commit, and the command between two others, in a suggested command, in UTF-16 units. */
  ownMessageChars: 4_000,
  /** The agent's own files whose state is asked for one finding. */
  guardOwnFilesMax: 100,

  // Shell lines.
  /** Git commands checked in one shell line. */
  guardedCommandsMax: 32,
  /** Longest patch that is read, in UTF-16 units. */
  patchChars: 4 * 1024 * 1024,
  /** Files that one patch touches, as far as they are read: each is locked. */
  patchFilesMax: 200,
  /** Paths that the plain commands of one shell line name. */
  namedFilesMax: 200,
  /** Of these, the files before which the gates are asked. */
  gatedFilesMax: 20,
  /** Length of a chain of git aliases. */
  aliasDepthMax: 8,
  /** Longest shell line that is parsed, in UTF-16 units, file texts in here-documents included. */
  shellLineChars: 256 * 1024,
  /** Text expanded from one line, in UTF-16 units: words of commands, and lines for nested shells. */
  shellTextChars: 512 * 1024,
  /** Nesting of brackets, quotes and functions. */
  shellDepthMax: 32,
  /** Commands walked, those of loops and functions as often as they run. */
  shellStepsMax: 10_000,
  /** A shell's positional parameters (`$1` and so on), and elements of one of its arrays. */
  shellListMax: 1_000,
  /** Files in Kite's own directory that one line writes, of those that are looked at. */
  ownWritesMax: 100,
  /** Projects that `kite status` names of a changed `trusted.json`, lost and gained ones each. */
  changedProjectsMax: 5,
  /** Variables, and functions, tracked in one line. */
  shellNamesMax: 100,
  /** Rounds of a loop over known words; a longer loop counts as one round with an unknown word. */
  shellRoundsMax: 32,

  // Finding out who calls.
  /** How long `kite doctor` goes on asking a daemon whose process lives, before it calls it silent. */
  patienceMs: 30_000,
  /** Longest time that a command asks for its caller. */
  whoamiMs: 5_000,
  /** Length kept of a running shell line, in UTF-16 units. */
  typedChars: 4_096,
  /** Processes between an agent's client and its command that are looked at. */
  shellsMax: 16,
  /** Longest piece of such a process's command line, in UTF-16 units without quotes and blanks. */
  shellChars: 32_768,
  /** Processes above a command that are looked at for an agent's client: more than any terminal has. */
  ancestorsMax: 64,
  /** Of a start time as the system tells it. */
  startTimeChars: 64,
  /** Windows in which a person typed the word, and the time for that. */
  personWindowsMax: 50,
  personWordMs: 60_000,
  /** Latest tool uses whose actors are kept. */
  toolUsesMax: 1_000,
} as const;

/** Bounds of the journal and of the trail; part of `limits`. */
const journalLimits = {
  // Journal.
  segmentBytes: 64 * 1024 * 1024,
  /** Longest write to the journal, and so the longest torn write at its end. */
  recordBytes: 4 * 1024 * 1024,
  /** Bytes of the journal that a start reads at once. */
  journalReadBytes: 1024 * 1024,
  /** Sessions, and files, that a start keeps as one object each while it reads; then it begins anew. */
  knownNamesMax: 32_768,
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

/** Bounds of what Kite keeps of the agents' work; part of `limits`. */
const rescueLimits = {
  /** Longest file whose content is kept. */
  rescueFileBytes: 8 * 1024 * 1024,
  /** All kept contents together, as they are on the disk. */
  rescueStoreBytes: 1024 * 1024 * 1024,
  /** A version older than this goes, unless it is the last one of a file with uncommitted work. */
  rescueKeptMs: 14 * 24 * 3_600_000,
  /** Versions in all. */
  rescueVersionsMax: 100_000,
  /** Beyond a bound, versions go until no more than this part of it is left: so that not each new one prunes. */
  rescueLowPart: 0.9,
  /** Versions that one turn of the event loop looks at while it prunes. */
  rescuePrunedPerTurn: 500,
  /** Bytes of the index that one turn of the event loop reads. */
  rescueIndexBytesPerTurn: 64 * 1024,
  /** Longest line of the index; a wipe of so many files that its line is longer does not name them all. */
  rescueLineBytes: 256 * 1024,
  /** A content that no version has goes after this; nothing says that one is missing. */
  rescueOrphanMs: 24 * 3_600_000,
  /** For how long a status shows what was found damaged. */
  rescueDamageMs: 24 * 3_600_000,
  /** How often a version is looked for that is too old, while the daemon keeps some. */
  rescuePruneMs: 3_600_000,
  /** Shortest time between two syncs of the index. A power cut takes its lines of this time, and the contents give them back. */
  rescueSyncMs: 1_000,
  /** A store that could not be read is read again after this. */
  rescueReadAgainMs: 30_000,
  /**
   * Numbers of versions and wipes that a start leaves out if the daemon before it did not end in order. They are more
   * than an index loses at its end when the power fails, because its sync runs behind the answers. Nobody knows how
   * many those were.
   */
  rescueNumbersSkipped: 1_000,
  /** Dead lines of the index before it is written anew, if they are more than the live ones. */
  rescueDeadLinesMax: 1_000,
  /** Wipes kept, and files of one wipe. */
  rescueWipesMax: 1_000,
  rescueWipeFilesMax: 1_000,
  /** Writes that wait to be kept; of more, the oldest is not kept. */
  rescueQueueMax: 1_000,
  /** Texts of tools that wait with them. */
  rescueQueueBytes: 64 * 1024 * 1024,
  /** Places at which one edit replaced a text, and its whole text is still made up from the event. */
  rescueReplacedMax: 10_000,
  /** Files of which it is known why they are not kept. */
  rescueUnkeptMax: 1_000,
  /** Longest wait for versions before a line that wipes runs. */
  rescueWipeWaitMs: 1_500,
  /** Longest wait for a version of what an edit replaces, before the edit runs: time at work, and elapsed time. */
  rescueReplaceWaitMs: 250,
  rescueReplaceTimeMs: 1_000,
  /** By so much the time of a file's change may lie before the clock's: a filesystem takes it from a timer's last tick. */
  rescueStampSlackMs: 20,
  /** Files named of those that could not be kept before a wipe. */
  rescueNamedMax: 5,
  /** Latest contents held in memory, to count lines and to scan only what changed. */
  rescueCacheBytes: 16 * 1024 * 1024,
  /** Longest part of two files that differs whose lines are compared exactly: lines of one times lines of the other. */
  rescueDiffCells: 40_000,
  /** Files of which it is remembered that git does not ignore them, and how long that counts while nothing that says so changes. */
  notIgnoredMax: 5_000,
  notIgnoredMs: 60_000,
  /** Repositories whose checked-out commit is remembered. */
  headsMax: 200,
  /** Latest entries of HEAD's log in which lost work is looked for. */
  committedLooksMax: 5,
  /** New files in which a file that is gone is looked for: it may have been moved. */
  rescueMovedLooksMax: 50,
  /** Longest part of two contents that differs whose lines are counted. */
  rescueCountedBytes: 1024 * 1024,
  /** For how long a status shows what was wiped, and at how many files it looks whether they are there again. */
  rescueStatusMs: 3_600_000,
  rescueStatusFilesMax: 20,
  /** Shortest time between two comparisons of a worktree's files with what is kept, unless a person prompts or asks. */
  rescueCompareMs: 2_000,
  /** Tries to read a file that is written or replaced meanwhile. */
  rescueReadsMax: 3,
  /** Longest time that an answer waits for the writes that are being kept. */
  rescueSettleMs: 2_500,
  /** Longest time that the look at what a line wiped waits for them: without the versions of before it finds no loss. */
  rescueLaterMs: 30_000,
  /** Longest time that a stop waits for what is being kept. */
  rescueStopMs: 500,
  /** Restores that have begun and not ended, and how long one may take. */
  rescueRestoresMax: 100,
  rescueRestoreMs: 60_000,
  /** Patterns of the person's own list of files that are never kept. */
  rescueNeverMax: 200,
} as const;

/** Bounds of a store that machines share: what it is reached and named by, its nodes, and waits for it; part of `limits`. */
const storeLimits = {
  /** Longest address of a store. */
  storeAddressBytes: 2_048,
  /** Servers that an address names, of which one takes writes at a time. */
  storeHostsMax: 8,
  /** Longest name of a user or a database: PostgreSQL cuts a longer one. */
  storeNameBytes: 63,
  /** Longest host name, as DNS has it. */
  hostChars: 253,
  /** Longest password of a store: tokens of clouds are long. */
  storeSecretBytes: 8 * 1024,
  /** Longest `.pgpass` that is read. */
  passFileBytes: 256 * 1024,
  /** Longest file of root certificates that is read. */
  rootCertificateBytes: 1024 * 1024,
  /** Longest name by which machines know a project, in UTF-16 units. */
  sharedProjectChars: 200,
  /** Projects that a machine shares, or shared. */
  sharedProjectsMax: 1_000,
  /** Longest configuration of a repository that is read: it has a section for each branch that tracks another one. */
  gitConfigBytes: 1024 * 1024,
  /** How long a person's command waits for a store that is being opened. */
  storeOpenMs: 5_000,
  /** How long a move waits until a project was read. */
  storeShareMs: 10_000,
  /** Longest file of a machine's id. */
  machineIdBytes: 256,
  /** Longest name of a machine that people see, in UTF-16 units. */
  machineNameChars: 32,
  /** Nodes of a store. */
  nodesMax: 200,
  /** Interval of a node's renewals of its lease. */
  nodeRenewMs: 20_000,
  /** A node silent this long is shown as away. */
  nodeAwayMs: 60_000,
  /** After how long a silence a machine's agents count as gone, if its settings do not say another time. */
  storeGoneMs: 3_600_000,
  /** Longest pause between two tries to reach the store, and the first one between two of a move to it. */
  storeReopenMs: 2_000,
  /** Longest pause between two tries of a move to the store that broke off. */
  storeMovePauseMs: 60_000,
  /** How long a stop of the daemon waits for the store. */
  storeCloseMs: 2_000,
  /** How long a request waits for the store before its client hears that the outcome is not known. */
  storeAnswerMs: 4_000,
  /** How long a client repeats a request of which the outcome is not known, and its pause before each. */
  storeRepeatMs: 10_000,
  storeRepeatPauseMs: 300,
  /** Largest copy of a shared project that is kept. */
  storeCopyBytes: 64 * 1024 * 1024,
  /**
   * Shortest pause between two copies that a running daemon keeps: what people know after a kill is older by about that. Each one
   * is written as a whole and synced, so a shorter one would keep a laptop's disk awake.
   */
  storeCopyPauseMs: 60_000,
  /** How long people are shown that the store lacks what it had before, and that a leave was undone. */
  storeWentBackMs: 3_600_000,
  /** Requests of a project that wait for the store, and the answers of its node that repeated ones get. */
  storeWaitingMax: 10_000,
  storeRepliesMax: 10_000,
  /** Rows and steps behind which a copy is read anew as a whole, and what one piece of that has. */
  storeBehindMax: 5_000,
  storeNewsMax: 2_000,
  storePageRows: 500,
  /** Rows of a store that do not fit, which are named to people. */
  storeUnfitMax: 100,
  /** How often a wait for the store looks again. */
  storeLookMs: 250,
  /** How long the answer to an event waits for the store; what comes later comes with a later event. */
  storeHookMs: 500,
  /** After an answer did not come in that time, how long events do not wait for the store at all. */
  storeHookPauseMs: 10_000,
} as const;

/** Bounds of lines, replies and connections; part of `limits`. */
const wireLimits = {
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
