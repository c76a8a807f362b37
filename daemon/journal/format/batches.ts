/** Collects proposals into one write for each turn of the event loop. */
import { limits } from "../../../protocol/limits.ts";
import type { Proposal } from "../../core/tables/entries.ts";
import type { ProposeFailure } from "../journal.ts";

/** A proposal that waits to be written, and the callback for its failure. */
export interface Waiting {
  readonly proposal: Proposal;
  readonly failed: (proposal: Proposal, reason: ProposeFailure) => void;
  /** How many entries it counts as. */
  readonly cost: number;
}

/** Runs a task in a later turn of the event loop, never before the caller has returned. */
export type Soon = (task: () => void) => void;

/**
 * Collects the proposals of one turn of the event loop and commits them together, in order, up to
 * `limits.turnEntriesMax` by their costs; later turns commit the others. Proposals made during a commit join the next batch.
 */
/** A caller that waits until `until` proposals have been committed. */
interface Barrier {
  readonly after: number;
  readonly resolve: () => void;
}

export class Batches {
  readonly #soon: Soon;
  readonly #commit: (batch: readonly Waiting[]) => readonly Waiting[];
  #waiting: Waiting[] = [];
  /** Number of proposals so far, and of those committed. */
  #added = 0;
  #committed = 0;
  #barriers: Barrier[] = [];
  #scheduled = false;
  #committing = false;
  #holds = 0;

  /** `commit` returns the proposals that have to wait; they begin the next batch. */
  constructor(soon: Soon, commit: (batch: readonly Waiting[]) => readonly Waiting[]) {
    this.#soon = soon;
    this.#commit = commit;
  }

  /** `cost`: how many entries each of the proposals counts as. */
  add(proposals: readonly Proposal[], failed: Waiting["failed"], cost = 1): void {
    for (const proposal of proposals) this.#waiting.push({ proposal, failed, cost });
    this.#added += proposals.length;
    this.#schedule();
  }

  /** Resolves when every proposal added before has been committed. */
  barrier(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#committing) return Promise.resolve();
    return new Promise(resolve => this.#barriers.push({ after: this.#added, resolve }));
  }

  /** Commits nothing until `release` was called as often as `hold`. */
  hold(): void {
    this.#holds += 1;
  }

  release(): void {
    this.#holds -= 1;
    this.#schedule();
  }

  /** Commits all waiting proposals at once, even during a `hold`. */
  flush(): void {
    this.#commitFirst(this.#waiting.length);
  }

  #commitFirst(count: number): void {
    const batch = this.#waiting.splice(0, count);
    if (batch.length === 0) return;
    this.#committing = true;
    const left = this.#commit(batch);
    this.#committing = false;
    this.#committed += batch.length - left.length;
    if (left.length > 0) this.#waiting = [...left, ...this.#waiting];
    this.#schedule();
    const waits = this.#barriers.findIndex(({ after }) => after > this.#committed);
    const over = this.#barriers.splice(0, waits === -1 ? this.#barriers.length : waits);
    for (const { resolve } of over) resolve();
  }

  #schedule(): void {
    if (this.#scheduled || this.#holds > 0 || this.#waiting.length === 0) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      if (this.#holds === 0) this.#commitFirst(this.#countOfTurn());
    });
  }

  /** Returns how many of the waiting proposals one turn commits: at least one. */
  #countOfTurn(): number {
    let [count, left]: [number, number] = [0, limits.turnEntriesMax];
    for (const { cost } of this.#waiting) {
      left -= cost;
      if (left < 0 && count > 0) break;
      count += 1;
    }
    return count;
  }
}

/** Reports to every proposer in `batch` that it was not stored, or why the journal cannot tell. */
export function failAll(batch: readonly Waiting[], reason: ProposeFailure): void {
  for (const { proposal, failed } of batch) failed(proposal, reason);
}

export const closedFailure: ProposeFailure = {
  code: "restarting",
  message: "the daemon is stopping; connect again in a moment",
  outcome: "not_stored",
};
