/**
 * Requests that the store may have: a repeat of one does not hear that nothing was stored.
 *
 * Invariants: a request is here from the moment at which it goes to the store until an answer says what became of it. There
 * are at most `limits.storeUnheardMax`, and the oldest is forgotten first.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Retry } from "../core/frame/actors.ts";
import type { Reply } from "../core/tables/entries.ts";

/** Answers after which nobody knows whether the request was stored. */
const open: ReadonlySet<string> = new Set(["outcome_unknown", "restarting"]);

/** Whether nobody knows what became of the request that has this answer. */
export function isUnknown(reply: Reply): boolean {
  return !reply.ok && open.has(reply.code);
}

export class Unsettled {
  readonly #requests = new BoundedMap<string, true>({ entriesMax: limits.storeUnheardMax });

  constructor(before: readonly string[] = []) {
    for (const key of before) this.#requests.set(key, true);
  }

  /** The requests, as the next daemon takes them. */
  get all(): readonly string[] {
    return [...this.#requests.entries()].map(([key]) => key);
  }

  has(retry: Retry): boolean {
    return this.#requests.has(keyOf(retry));
  }

  /** It goes to the store now. */
  sent(retry: Retry): void {
    this.#requests.set(keyOf(retry), true);
  }

  /**
   * Notes the answer to a try. `wasOpen`: an earlier one may have been stored, of which `store_away` says nothing. Returns
   * whether its outcome is not known still.
   */
  answered(retry: Retry, reply: Reply, wasOpen: boolean): boolean {
    const code = reply.ok ? "" : reply.code;
    const isOpen = open.has(code) || (wasOpen && code === "store_away");
    if (!isOpen) this.#requests.delete(keyOf(retry));
    return isOpen;
  }
}

function keyOf({ by, requestId }: Retry): string {
  return `${by} ${requestId}`;
}
