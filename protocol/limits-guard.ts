/** Bounds of the guard over the working tree, and of reading shell lines: a part of `limits`. */
export const guardLimits = {
  /** Files with work in two worktrees that are remembered. */
  mergeRisksMax: 1_000,
  /** Of these, named to an agent at a time. */
  mergeRisksTold: 3,
  /** Files whose uncommitted work is remembered, and writers of each. */
  writesMax: 10_000,
  writersPerFileMax: 8,
  /** Work that looking at uncommitted work may take, and time however little of it was work. */
  guardMs: 5_000,
  guardTimeMs: 20_000,
  /** The hook of a guarded command is answered within this, also while it waits for an index: its client waits longer. */
  guardAnswerMs: 51_000,
  /** Files looked at for one command: those written last. */
  guardPathsMax: 500,
  guardPathsBytes: 100_000,
  /** Indexes of which it is remembered what git said, and files of each. */
  guardIndexesMax: 100,
  guardIndexMax: 5_000,
  /** A shell line that was told of others' files passes when it is sent again within this. */
  guardToldMs: 600_000,
  /** Lines of which that is remembered, and lines that run now; and files of either, all lines together. */
  guardToldMax: 1_000,
  /** Commits that one command picks or reverts, and whose files are looked at. */
  changeCommitsMax: 200,
  guardToldFilesMax: 20_000,
  /** Latest commits looked at when a line has ended, and how much of a commit's id is told. */
  guardCommitsMax: 20,
  commitIdChars: 10,
  /** Git processes of the daemon at a time, and what is read of one. */
  gitAtOnceMax: 6,
  gitOutputBytes: 4 * 1024 * 1024,
  /** Worktrees looked at for one answer about uncommitted work. */
  whoseWorktreesMax: 50,
  /** Files looked at after a shell command. */
  shellFilesMax: 1_000,
  /** An ended shell command is heard of so late at most. */
  shellSlackMs: 2_000,
  /** Notes of its files that an actor has not been told yet, and actors that have any. */
  fileNotesMax: 5,
  notedActorsMax: 1_000,
  /** What changes a file within this time of a tool's write belongs to that write, as a formatter does. */
  aftermathMs: 5_000,
  /** A change of a file whose owner is at work counts as another one's when so long nothing is heard of the owner. */
  suspicionMs: 60_000,
  suspicionsMax: 1_000,
  /** Files remembered as they were last seen. */
  baselinesMax: 20_000,
  /** Worktrees looked at for one command of which it cannot be told where it runs. */
  guardSupposedMax: 8,
  /** Files named in one finding. */
  guardFilesMax: 20,
  /** Foreign files that an agent reads of, of those in one answer. */
  guardFilesShownMax: 5,
  /** Ways on, and people to ask, named in one answer. */
  guardWaysMax: 3,
  /** Paths of one's own in one command that an agent is told, in UTF-16 units. */
  ownPathsChars: 1_000,

  // Shell lines.
  /** Git commands looked at in one shell line. */
  guardedCommandsMax: 32,
  /** Aliases of git that lead from one to the next. */
  aliasDepthMax: 8,
  /** Longest shell line that is read, in UTF-16 units: file texts in here-documents are part of it. */
  shellLineChars: 256 * 1024,
  /** Text that is made or read again in one line: words of commands, and lines for further shells, in UTF-16 units. */
  shellTextChars: 512 * 1024,
  /** Brackets, quotes and functions within each other. */
  shellDepthMax: 32,
  /** Commands gone through, those of loops and functions as often as they run. */
  shellStepsMax: 10_000,
  /** Words of a shell's own (`$1` and so on), and elements of an array of its. */
  shellListMax: 1_000,
  /** Variables, and functions, of a line that are followed. */
  shellNamesMax: 100,
  /** Rounds of a loop over words that are known, before it counts as one round with a word that is not. */
  shellRoundsMax: 32,
} as const;
