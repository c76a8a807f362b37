/** Bounds of the guard over the working tree, and of parsing shell lines: a part of `limits`. */
export const guardLimits = {
  /** Merge risks kept, of one file and two worktrees each. */
  mergeRisksMax: 1_000,
  /** Merge risks named in one notice. */
  mergeRisksTold: 3,
  /** Files that a session's branch changed, as other machines hear of them, and their length as JSON. */
  branchFilesMax: 500,
  branchFilesChars: 64 * 1024,
  /** Sessions of whose branches the files are kept until the branch has other commits. */
  branchLooksMax: 500,
  /**
   * How long after a look at a session's files its writes wait for the next one: a look takes about 30 ms of processor time among
   * 50,000 files, so that a session that edits all the time costs a thousandth of one.
   */
  branchLookPauseMs: 30_000,
  /** Files that branches of two machines changed: those that one step or event names, and files of others that a step looks at. */
  sameFilesToldMax: 10,
  /** Pairs of branches of which one step has events. */
  sameFilePairsMax: 100,
  sameFilesLookedAtMax: 5_000,
  /** Dirty files kept, and writers of each. */
  writesMax: 10_000,
  writersPerFileMax: 8,
  /** Settled files kept, since git may make their work uncommitted again; also those checked for one line. */
  settledWorkMax: 2_000,
  /** Stash entries whose makers are kept. */
  stashEntriesMax: 1_000,
  /** Longest log of a stash list that is read, in bytes. */
  stashLogBytes: 256 * 1024,
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
