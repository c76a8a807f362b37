/** Bounds of reading shell lines: a part of `limits`. */
export const shellLimits = {
  /** Git commands looked at in one shell line. */
  guardedCommandsMax: 32,
  /** Aliases of git that lead from one to the next. */
  aliasDepthMax: 8,
  /** Longest shell line that is read, in UTF-16 units: file texts in here-documents are part of it. */
  shellLineChars: 256 * 1024,
  /** Text that is made or read again in one line: words of commands, and lines for further shells, in UTF-16 units. */
  shellTextChars: 1024 * 1024,
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
