/** How long single steps take: none may keep the others waiting. */
import { apply } from "../../daemon/core/apply.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Entry, Step } from "../../daemon/core/tables/entries.ts";
import { stepMaxMs } from "../bench/growth-steps.ts";

/** Entries between two copies of the state. */
const copyEvery = 200;

export class StepTimes {
  #copy: string | null = null;
  #since: Entry[] = [];

  /** The state is another one from now on. */
  restart(): void {
    this.#copy = null;
  }

  /** Applies an entry; `slow` says what is wrong where it took too long, and once more on a copy of the state. */
  run(state: State, entry: Entry): { readonly step: Step; readonly slow: string | null } {
    if (this.#copy === null || this.#since.length >= copyEvery) {
      this.#copy = writeState(state);
      this.#since = [];
    }
    this.#since.push(entry);
    // By the clock first, which costs nothing to ask: the processor time of a step is no longer than that.
    const began = performance.now();
    const step = apply(state, entry);
    const ms = performance.now() - began;
    // Collecting garbage, compiling and other processes count as well: they do not come twice in one place.
    const again = ms > stepMaxMs ? this.#again(this.#copy) : 0;
    return {
      step,
      slow: again > stepMaxMs ? `${entry.command.type} took ${ms} ms, and then ${again} ms` : null,
    };
  }

  #again(copy: string): number {
    const state = readState(copy);
    for (const entry of this.#since.slice(0, -1)) {
      try {
        apply(state, entry);
      } catch {
        // It threw before as well, and counts as void.
        state.seq = entry.seq;
      }
    }
    const [last] = this.#since.slice(-1);
    return last === undefined ? 0 : processorMs(() => apply(state, last));
  }
}

function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
