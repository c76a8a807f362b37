/** The failures of proposals that only a log elsewhere has. */
import type { ProposeFailure } from "../journal.ts";

/** The log does not know yet whether the proposal is stored; it delivers it if it is. */
export const unknownFailure: ProposeFailure = {
  code: "outcome_unknown",
  message:
    "the store did not answer in time, and may have stored this: send the same request again, with the same requestId",
  outcome: "unknown",
};

/** Returns the failure while no store can be reached; `reason`: what the last try to connect met. */
export function awayFailure(reason: string): ProposeFailure {
  return {
    code: "store_away",
    message: `the store does not answer${reason === "" ? "" : ` (${reason})`}; nothing was stored: try again when it is back`,
    outcome: "not_stored",
  };
}

export const fullStoreFailure: ProposeFailure = {
  code: "store_full",
  message: "the store's disk is full: its administrator has to make space; Kite goes on by itself then",
  outcome: "not_stored",
};

/** More waits for the store than this node keeps. */
export const busyFailure: ProposeFailure = {
  code: "store_away",
  message:
    "the store takes less than this node writes, and no more may wait; nothing was stored: try again in a moment",
  outcome: "not_stored",
};

/** Returns the failure of an append that the store refused, by its words. */
export function refusedFailure(words: string): ProposeFailure {
  return {
    code: "internal_error",
    message: `the store refused to append: ${words}; nothing was stored. Its administrator can tell from its log why`,
    outcome: "not_stored",
  };
}
