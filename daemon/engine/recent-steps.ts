/** Keeps the latest steps of a replay: of the earlier ones no client can ask for the events any more. */
import { limits } from "../../protocol/limits.ts";
import type { Entry } from "../core/commands.ts";
import type { Step } from "../core/outcome.ts";

export interface RecentStep {
  readonly entry: Entry;
  readonly step: Step;
  /** The epoch of the state after the step. */
  readonly epoch: number;
}

/** Invariant: holds the last `limits.ringEntriesMax` steps, fewer if there were not as many. */
export class RecentSteps {
  #steps: RecentStep[] = [];
  /** Where the oldest one is, once the list is full. */
  #oldest = 0;

  clear(): void {
    this.#steps = [];
    this.#oldest = 0;
  }

  add(entry: Entry, step: Step, epoch: number): void {
    const one = { entry, step, epoch };
    if (this.#steps.length < limits.ringEntriesMax) {
      this.#steps.push(one);
      return;
    }
    this.#steps[this.#oldest] = one;
    this.#oldest = (this.#oldest + 1) % limits.ringEntriesMax;
  }

  /** The steps, oldest first. */
  get inOrder(): readonly RecentStep[] {
    return [...this.#steps.slice(this.#oldest), ...this.#steps.slice(0, this.#oldest)];
  }
}
