/** The failures that the journal reports to proposers. */
import { type ProposeFailure, StoreLost } from "./journal.ts";

/** Returns the failure for proposals that wait when the journal breaks; `cause` is what broke it. */
export function brokenFailure(cause: Error | null, outcome: ProposeFailure["outcome"]): ProposeFailure {
  if (cause instanceof StoreLost) return { code: "store_lost", message: cause.message, outcome };
  return {
    code: "internal_error",
    message: "the journal could not be written; the daemon stops: see its log",
    outcome,
  };
}

/** Returns the failure for a command longer than one entry may be (`bytes`). */
export function tooLargeFailure(bytes: number): ProposeFailure {
  return {
    code: "internal_error",
    message: `the command is larger than the log takes (${bytes} bytes): name fewer files at once`,
    outcome: "not_stored",
  };
}

/** Says that the files of the journal in `dir` were moved or removed, and what to do. */
export function lostText(dir: string): string {
  return (
    `the journal's files in ${dir} were removed, moved or replaced while the daemon ran: nothing is stored any ` +
    "more, and the daemon stops. Put the folder back if you have it; then start Kite again: kite up"
  );
}
