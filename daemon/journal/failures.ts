import { type ProposeFailure, StoreLost } from "./journal.ts";

/** What those hear who wait for a journal that stores nothing more, by what broke it. */
export function brokenFailure(cause: Error | null, outcome: ProposeFailure["outcome"]): ProposeFailure {
  if (cause instanceof StoreLost) return { code: "store_lost", message: cause.message, outcome };
  return {
    code: "internal_error",
    message: "the journal could not be written; the daemon stops: see its log",
    outcome,
  };
}

/** A command that is longer than one entry may be, `bytes`. */
export function tooLargeFailure(bytes: number): ProposeFailure {
  return {
    code: "internal_error",
    message: `the command is larger than the log takes (${bytes} bytes): name fewer files at once`,
    outcome: "not_stored",
  };
}

/** What happened to a journal in `dir` whose files are not where they were, and what to do. */
export function lostText(dir: string): string {
  return (
    `the journal's files in ${dir} were removed, moved or replaced while the daemon ran: nothing is stored any ` +
    "more, and the daemon stops. Put the folder back if you have it; then start Kite again: kite up"
  );
}
