import { limits } from "../../protocol/limits.ts";
import type { Proposal } from "../core/commands.ts";
import type { ProposeFailure } from "./journal.ts";

/** A proposal that waits for its place in the log, and who hears when it gets none. */
export interface Waiting {
  readonly proposal: Proposal;
  readonly failed: (proposal: Proposal, reason: ProposeFailure) => void;
}

/** Runs a task soon, in a turn of its own; not before the caller has returned. */
export type Soon = (task: () => void) => void;

/**
 * Collects what is proposed within one turn of the event loop and commits it at once, in order, up to
 * `limits.turnEntriesMax` proposals; the rest is committed in the next turns. What is proposed while a batch is
 * committed goes into the next one.
 */
/** Somebody who waits until so many proposals were committed. */
interface Barrier {
  readonly after: number;
  readonly resolve: () => void;
}

export class Batches {
  readonly #soon: Soon;
  readonly #commit: (batch: readonly Waiting[]) => readonly Waiting[];
  #waiting: Waiting[] = [];
  /** Proposals so far, and those of them that were committed. */
  #added = 0;
  #committed = 0;
  #barriers: Barrier[] = [];
  #scheduled = false;
  #committing = false;
  #holds = 0;

  /** `commit` returns those at the end of the batch that have to wait; they come first in the next one. */
  constructor(soon: Soon, commit: (batch: readonly Waiting[]) => readonly Waiting[]) {
    this.#soon = soon;
    this.#commit = commit;
  }

  add(proposals: readonly Proposal[], failed: Waiting["failed"]): void {
    for (const proposal of proposals) this.#waiting.push({ proposal, failed });
    this.#added += proposals.length;
    this.#schedule();
  }

  /** Resolves when everything added before has been committed. */
  barrier(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#committing) return Promise.resolve();
    return new Promise(resolve => this.#barriers.push({ after: this.#added, resolve }));
  }

  /** Commits nothing until every `hold` was released. */
  hold(): void {
    this.#holds += 1;
  }

  release(): void {
    this.#holds -= 1;
    this.#schedule();
  }

  /** Commits at once what waits, held or not. */
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
      if (this.#holds === 0) this.#commitFirst(limits.turnEntriesMax);
    });
  }
}

/** Tells everyone in `batch` that it was not stored, or why that is not known. */
export function failAll(batch: readonly Waiting[], reason: ProposeFailure): void {
  for (const { proposal, failed } of batch) failed(proposal, reason);
}

export const closedFailure: ProposeFailure = {
  code: "restarting",
  message: "the daemon is going down; connect again in a moment",
  outcome: "not_stored",
};
