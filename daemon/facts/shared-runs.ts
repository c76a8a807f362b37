/** Work that many callers ask for at a time. */

interface Run<T> {
  readonly done: Promise<T>;
  next: Promise<T> | null;
}

/**
 * Runs work by a name. A caller that asks during a run of the same name shares the next one with others: it begins after
 * their question, so its result is no older. At most `max` runs are under way.
 */
export class SharedRuns<T> {
  readonly #max: number;
  readonly #runs = new Map<string, Run<T>>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  run(name: string, work: () => Promise<T>): Promise<T> {
    const run = this.#runs.get(name);
    if (run === undefined) return this.#begin(name, work);
    const begin = () => this.#begin(name, work);
    run.next ??= run.done.then(begin, begin);
    return run.next;
  }

  #begin(name: string, work: () => Promise<T>): Promise<T> {
    const run: Run<T> = { done: this.#limited(work), next: null };
    this.#runs.set(name, run);
    const end = () => {
      if (run.next === null) this.#runs.delete(name);
    };
    run.done.then(end, end);
    return run.done;
  }

  async #limited(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) await new Promise<void>(go => this.#waiting.push(go));
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}
