/** Bounds of debates: a part of `limits`. */
export const debateLimits = {
  /** Debates of all projects together; a new one drops the oldest closed one, with its verdict. */
  debatesMax: 200,
  /** Debates of one project; a new one drops the project's oldest closed one. More than may be open. */
  debatesPerProjectMax: 20,
  /** Open debates of one project. */
  debatesOpenMax: 10,
  /** Hypotheses of one debate; it has two at least. */
  debateHypothesesMax: 8,
  debateParticipantsMax: 100,
  /** Entries of one debate; the last ones are kept for what it needs to close. */
  debateEntriesMax: 100,
  /** Longest question, claim, entry, or reason of a verdict, in UTF-16 units. */
  debateTextChars: 4_096,
} as const;
