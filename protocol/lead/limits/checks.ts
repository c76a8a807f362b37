/** Bounds of a project's checks, and of telling a worktree's state: a part of `limits`. */
export const checkLimits = {
  /** Checks of one project, globs of one check, and UTF-16 units of a check's name and of its command. */
  checksMax: 32,
  checkGlobsMax: 32,
  checkNameChars: 40,
  checkCommandChars: 2_000,
  /** Latest results kept, of all projects together. */
  checkResultsMax: 1_000,
  /** Time of one check before it is killed, by default and at most. */
  checkMs: 600_000,
  checkMaxMs: 6 * 60 * 60 * 1000,
  /** A check that ran too long has this long to end by itself before it is killed. */
  checkGraceMs: 2_000,
  /** After a check's shell has ended, a process that it left behind may write to its output for this long. */
  checkFlushMs: 500,
  /** The end of a check's output that is kept, in bytes, and the lines of it that are shown. */
  checkOutputBytes: 64 * 1024,
  checkLinesShown: 20,
  /**
   * Steps that matching the globs of all checks against the changed files may take, and those in one turn of the event
   * loop (about 1 ms); a check that is beyond the first bound applies.
   */
  checkGlobSteps: 50_000_000,
  checkGlobTurnSteps: 500_000,
  /** Trusted files, and the longest file of them that is read. */
  trustedFilesMax: 1_000,
  trustedBytes: 1024 * 1024,

  // The state of a worktree.
  /** Work time of telling a worktree's state, its elapsed time, and states told at a time. */
  stateMs: 5_000,
  stateTimeMs: 20_000,
  statesAtOnceMax: 2,
  /** Files of a worktree whose state is told, and of these files those that differ from the commit. */
  stateFilesMax: 100_000,
  stateChangedMax: 5_000,
  /** Bytes of changed files that are hashed; of further ones the stat counts. */
  stateHashBytes: 64 * 1024 * 1024,
  /** Files of a folder whose stats are read at once, and such groups under one budget. */
  stateGroupFilesMax: 200,
  stateGroupsMax: 16,
  /** Submodules and other repositories within each other. */
  stateDepthMax: 4,
  /** Tries to tell a state while git's index changes. */
  stateTriesMax: 3,
  /** Changed files that an answer names, and characters of each one's id. */
  stateFilesNamedMax: 200,
  stateContentChars: 16,
  /** A client waits this long for a worktree's state. */
  stateRequestMs: 30_000,
} as const;
