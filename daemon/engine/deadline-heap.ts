import type { Due, Timer } from "../core/tables/entries.ts";

/**
 * Timers, earliest first, in a binary heap. `take` and `sweep` drop those that are over.
 *
 * Of several timers with the same name only the earliest counts; the caller of `take` asks the core for the next time.
 */
export class Deadlines {
  readonly #heap: Timer[] = [];
  /** Due time by timer name. */
  readonly #times = new Map<string, number>();
  /** The heap index at which the next sweep begins. */
  #swept = 0;

  /** The earliest due time, or an earlier one that no longer counts; null if the heap is empty. */
  get next(): number | null {
    return this.#heap[0]?.at ?? null;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(timer: Timer): void {
    const name = nameOf(timer.due);
    const known = this.#times.get(name);
    if (known !== undefined && known <= timer.at) return;
    this.#times.set(name, timer.at);
    this.#rise(this.#heap.length, timer);
  }

  /** Removes and returns the earliest timer due at `now`, or null. */
  take(now: number): Timer | null {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.at > now) return null;
      const last = this.#heap.pop();
      if (last !== undefined && last !== first) this.#sink(0, last);
      const name = nameOf(first.due);
      // A timer of this name with an earlier time was added later and has been taken.
      if (this.#times.get(name) !== first.at) continue;
      this.#times.delete(name);
      return first;
    }
  }

  /**
   * Checks `count` timers and drops those that are over. The next call continues after them, so every timer is checked
   * in time: a count of twice the timers checks all, because one that takes a dropped one's place may be checked twice.
   */
  sweep(count: number, isOver: (due: Due) => boolean): void {
    for (let left = Math.min(count, 2 * this.#heap.length); left > 0; left -= 1) {
      if (this.#swept >= this.#heap.length) this.#swept = 0;
      const timer = this.#heap[this.#swept];
      if (timer === undefined) return;
      if (!isOver(timer.due)) {
        this.#swept += 1;
        continue;
      }
      this.#forget(timer);
      const last = this.#heap.pop();
      if (last === undefined || last === timer) continue;
      // The last timer may rise to where the sweep has been, so it is checked before it takes the free place.
      if (isOver(last.due)) this.#forget(last);
      else if (last.at < timer.at) this.#rise(this.#swept, last);
      else this.#sink(this.#swept, last);
    }
  }

  clear(): void {
    this.#heap.length = 0;
    this.#times.clear();
  }

  #forget({ due, at }: Timer): void {
    const name = nameOf(due);
    if (this.#times.get(name) === at) this.#times.delete(name);
  }

  /** Moves the timer up from `i` to its position. */
  #rise(from: number, timer: Timer): void {
    const heap = this.#heap;
    let i = from;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || parent.at <= timer.at) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = timer;
  }

  /** Moves the timer down from `from` to its position. */
  #sink(from: number, timer: Timer): void {
    const heap = this.#heap;
    let i = from;
    for (;;) {
      const left = 2 * i + 1;
      const a = heap[left];
      const b = heap[left + 1];
      if (a === undefined) break;
      const [child, at] = b !== undefined && b.at < a.at ? [b, left + 1] : [a, left];
      if (child.at >= timer.at) break;
      heap[i] = child;
      i = at;
    }
    heap[i] = timer;
  }
}

function nameOf(due: Due): string {
  return Object.values(due).join("\n");
}
