/** The refusal of a read of what machines share; a file of its own, since commands load no schemas. */

/** What is said of a shared project of which nothing is known. */
export const storeUnknown = {
  ok: false,
  code: "store_away",
  error:
    "the shared store was not reached since the daemon began, so tasks, messages and context of this project are not known; " +
    "they are there again when it answers (kite doctor says why it does not). Edits and locks go on without it",
} as const;
