/** Work that many callers ask for at a time. */
import { Slots } from "./slots.ts";

interface Run<T> {
  readonly done: Promise<T>;
  next: Promise<T> | null;
}

/**
 * Runs work by a name. A caller that asks during a run of the same name shares the next one with others: it begins after
 * their question, so its result is no older. At most `max` runs are under way.
 */
export class SharedRuns<T> {
  readonly #runs = new Map<string, Run<T>>();
  readonly #slots: Slots;

  constructor(max: number) {
    this.#slots = new Slots(max);
  }

  run(name: string, work: () => Promise<T>): Promise<T> {
    const run = this.#runs.get(name);
    if (run === undefined) return this.#begin(name, work);
    const begin = () => this.#begin(name, work);
    run.next ??= run.done.then(begin, begin);
    return run.next;
  }

  #begin(name: string, work: () => Promise<T>): Promise<T> {
    const run: Run<T> = { done: this.#slots.run(work), next: null };
    this.#runs.set(name, run);
    const end = () => {
      if (run.next === null) this.#runs.delete(name);
    };
    run.done.then(end, end);
    return run.done;
  }
}
