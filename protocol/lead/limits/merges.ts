/** Bounds of merges: a part of `limits`. */
export const mergeLimits = {
  /** Merges kept, of all projects together; a new one drops the oldest that has ended. */
  mergesMax: 1_000,
  /** Merges of one base that wait or run. */
  mergesOpenMax: 100,
  /** Branches of one request, branches that one of them waits for, and tasks that one brings back. */
  mergeBranchesMax: 32,
  mergeAfterMax: 32,
  mergeTasksMax: 16,
  /** Longest name of a branch, in UTF-16 units. */
  branchChars: 1_000,
  /** Files that a reason names, and UTF-16 units of its sentence and of the end of a check's output. */
  mergeFilesMax: 20,
  mergeReasonChars: 1_000,
  mergeOutputChars: 2_000,
  /** Tasks that one command reads to find the order of its merges. */
  mergeTasksAskedMax: 10_000,
  /** How long status tells of a branch that came back with nobody there to read so. */
  mergeUnheardMs: 86_400_000,
  /** Times that one merge begins anew because the base has moved. */
  mergeTriesMax: 5,
  /** Elapsed time of one git command that changes something, and of one that only reads. */
  mergeGitMs: 600_000,
  mergeReadMs: 60_000,
  /** Output of one git command: names of files. */
  mergeGitBytes: 64 * 1024 * 1024,
  /** A git command that is asked to end has this long before it is killed. */
  mergeGraceMs: 5_000,
} as const;
