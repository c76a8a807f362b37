import type { Due } from "./core/entry.ts";
import type { Timer } from "./core/step.ts";

/**
 * What will be due, earliest first: a binary heap. What no longer matters is found out when it comes up.
 *
 * Of several times for the same thing only the earliest counts: who takes it asks anew when it is due.
 */
export class Deadlines {
  readonly #heap: Timer[] = [];
  /** When each thing comes up. */
  readonly #times = new Map<string, number>();

  /** Not later than the next thing is due; null where there is nothing. */
  get next(): number | null {
    return this.#heap[0]?.at ?? null;
  }

  add(timer: Timer): void {
    const name = nameOf(timer.due);
    const known = this.#times.get(name);
    if (known !== undefined && known <= timer.at) return;
    this.#times.set(name, timer.at);
    const heap = this.#heap;
    let i = heap.push(timer) - 1;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || parent.at <= timer.at) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = timer;
  }

  /** Removes and returns the earliest one due at `now`, or null. */
  take(now: number): Timer | null {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.at > now) return null;
      const last = this.#heap.pop();
      if (last !== undefined && last !== first) this.#sink(last);
      const name = nameOf(first.due);
      // An earlier time for the same thing was added after it, and has been taken.
      if (this.#times.get(name) !== first.at) continue;
      this.#times.delete(name);
      return first;
    }
  }

  clear(): void {
    this.#heap.length = 0;
    this.#times.clear();
  }

  #sink(timer: Timer): void {
    const heap = this.#heap;
    let i = 0;
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
