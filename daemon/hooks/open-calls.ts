/** Calls of clients that give them no ids: an end is that of the latest call with the same words that has not ended. */
import type { CallIds } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";

interface Alike {
  /** The number of the next call with these words. */
  next: number;
  /** Those that have not ended, the latest last; a call that was denied has no end. */
  readonly open: number[];
}

/**
 * In memory only. The first call with some words has the same id after each start, so that an end finds what an earlier
 * start saw begin; if there were more of them, it ends nothing.
 */
export class OpenCalls implements CallIds {
  readonly #alike = new BoundedMap<string, Alike>({ entriesMax: limits.openCallsMax });

  begins(words: string): string {
    const alike = this.#alike.get(words) ?? { next: 0, open: [] };
    const n = alike.next;
    alike.next += 1;
    alike.open.push(n);
    if (alike.open.length > limits.openCallsAlikeMax) alike.open.shift();
    // The latest stay.
    this.#alike.set(words, alike);
    return idOf(words, n);
  }

  ends(words: string): string {
    return idOf(words, this.#alike.get(words)?.open.pop() ?? 0);
  }
}

function idOf(words: string, n: number): string {
  return `${words}-${n}`;
}
