/** A binary min-heap of numbers. */
export class NumberHeap {
  readonly #heap: number[] = [];

  push(n: number): void {
    const heap = this.#heap;
    let i = heap.push(n) - 1;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up] ?? n;
      if (parent <= n) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = n;
  }

  /** Removes and returns the smallest number. */
  pop(): number | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  #sink(n: number): void {
    const heap = this.#heap;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      if (a === undefined) break;
      const [child, at] = b !== undefined && b < a ? [b, left + 1] : [a, left];
      if (child >= n) break;
      heap[i] = child;
      i = at;
    }
    heap[i] = n;
  }
}
