/** How a shared store is, and what those hear who need it meanwhile. */
import { type Refusal, refuse } from "../../protocol/codes.ts";

/** How the store is. `opening`: this daemon has not reached it yet; `refused`: it answers, and does not take this node. */
export type Condition =
  | { readonly is: "open" }
  | { readonly is: "opening"; readonly why: string | null }
  | { readonly is: "away"; readonly sinceMs: number; readonly why: string }
  | { readonly is: "refused"; readonly error: string; readonly code: string };

export const storeLeft = refuse(
  "store_none",
  "this machine left the store, and its setting is still there; to finish that: kite store leave",
);

/** Returns why the store is not open, as far as that is known. */
export function whyOf(condition: Condition): string | null {
  return "why" in condition ? condition.why : "error" in condition ? condition.error : null;
}

/**
 * Returns what is said to who would enter something now; null: the store is open. `hasOpened`: this daemon reached it. Until
 * then it may have a request that was sent to an earlier daemon.
 */
export function awayRefusal(condition: Condition, hasOpened: boolean): Refusal | null {
  if (condition.is === "open") return null;
  const because = whyOf(condition) || "it was not reached yet";
  const what = hasOpened ? "nothing was stored" : "nothing was stored since the daemon began";
  const error = `the shared store does not answer (${because}); ${what}: try again later. Locks and edits go on without it`;
  return refuse("store_away", error);
}

/**
 * Returns what is said after an error with which the log is not opened again by itself: two daemons of one node would take it
 * from each other in turn, and in place of tables that were removed an empty store would look as if all were done.
 */
export function lastingRefusal(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null;
  if (error.name === "NodeTwice") return refuse("node_twice", error.message);
  return error.name === "StoreLost" ? refuse("store_away", error.message) : null;
}

/** Tells what became of the store, once for each change. */
export class ConditionNotes {
  readonly #tell: (is: Condition["is"], why: string) => void;
  #noted: Condition["is"] | null = null;

  constructor(tell: (is: Condition["is"], why: string) => void) {
    this.#tell = tell;
  }

  note(condition: Condition): void {
    const { is } = condition;
    // A start that has not tried yet has nothing to tell.
    const isUntried = this.#noted === null && is === "opening" && whyOf(condition) === null;
    if (is === this.#noted || isUntried) return;
    this.#noted = is;
    this.#tell(is, whyOf(condition) ?? "");
  }
}
