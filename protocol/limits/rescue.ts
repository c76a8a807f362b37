/** Bounds of what Kite keeps of the agents' work; part of `limits`. */
export const rescueLimits = {
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
  /** A store that could not be read is read again after this. */
  rescueReadAgainMs: 30_000,
  /**
   * Numbers of versions and wipes that a start leaves out if the daemon before it did not end in order: more than an index loses
   * at its end when the power fails, as its sync runs behind the answers. Nobody knows how many those were.
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
  /** Longest wait for a version of what an edit replaces, before the edit runs. */
  rescueReplaceWaitMs: 250,
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
