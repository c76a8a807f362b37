/** How a shared store is, and what those hear who need it meanwhile. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { shellArgument } from "../../protocol/text.ts";

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
  const what = hasOpened
    ? `the shared store does not answer (${because}); nothing was stored`
    : `the shared store does not answer (${because}), and did not since the daemon began; nothing can be stored now`;
  return refuse("store_away", `${what}: try again later. Locks and edits go on without it`);
}

/** Returns the refusal if the settings name another store than `joined`, with which this machine shares projects. */
function otherStore(joined: string): Refusal {
  const back = `kite config set store ${shellArgument(joined)} && kite down && kite up`;
  return refuse(
    "store_away",
    `the setting store names another store than ${joined}, which this machine joined: nothing is shared there before a person says so. ` +
      `To go back: ${back}. To change: go back, then kite store leave (if the former store is gone: kite store leave --away, at once), then kite store join URL`,
  );
}

/**
 * Returns what is said after an error that a person may have to end; null: it is of none. `isOver`: the log is not opened
 * again by itself, as two daemons of one node would take it from each other in turn. If the tables are not those that this
 * machine joined, none are made, and it tries again: a backup may be on its way back. `joined`: the store that this machine
 * joined, if the settings have another address now; null: the same.
 */
export function lastingRefusal(
  error: unknown,
  joined: string | null,
): { readonly refusal: Refusal; readonly isOver: boolean } | null {
  if (!(error instanceof Error)) return null;
  const { name, message } = error;
  if (name === "NodeTwice") return { refusal: refuse("node_twice", message), isOver: true };
  if (name !== "StoreLost") return null;
  return joined === null
    ? { refusal: refuse("store_away", message), isOver: false }
    : { refusal: otherStore(joined), isOver: true };
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
    // While a try is under way there is nothing to tell.
    const isUnderWay = is === "opening" && whyOf(condition) === null;
    if (is === this.#noted || isUnderWay) return;
    this.#noted = is;
    this.#tell(is, whyOf(condition) ?? "");
  }
}
