/** The core's collections: sorted keys, sets by key and a heap; bounds, paths in a graph, and `assert`. */

/**
 * Strings sorted by code units, in chunks. Adding, removing or finding a key costs a binary search and one chunk's move.
 *
 * Invariants: no chunk is empty or longer than `chunkMax`; the last key of a chunk is before the first of the next.
 * Removal joins a small chunk with a small neighbour.
 */
const chunkMax = 256;

export class SortedKeys {
  readonly #chunks: string[][] = [];
  #size = 0;

  constructor(...keys: readonly string[]) {
    for (const key of keys) this.add(key);
  }

  /** Returns the keys, which are sorted by code units and differ, in full chunks. */
  static of(sorted: readonly string[]): SortedKeys {
    const keys = new SortedKeys();
    for (let at = 0; at < sorted.length; at += chunkMax) keys.#chunks.push(sorted.slice(at, at + chunkMax));
    keys.#size = sorted.length;
    return keys;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the key; returns false if it is already present. */
  add(key: string): boolean {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([key]);
      this.#size += 1;
      return true;
    }
    const place = positionOf(chunk, key);
    if (chunk[place] === key) return false;
    chunk.splice(place, 0, key);
    this.#size += 1;
    if (chunk.length > chunkMax) this.#split(at, chunk, place === chunkMax);
    return true;
  }

  /** Removes the key; returns false if it is absent. */
  delete(key: string): boolean {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? 0 : positionOf(chunk, key);
    if (chunk === undefined || chunk[place] !== key) return false;
    chunk.splice(place, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    else if (chunk.length <= chunkMax / 4) this.#join(at, chunk);
    return true;
  }

  has(key: string): boolean {
    const chunk = this.#chunks[this.#chunkOf(key)];
    return chunk !== undefined && chunk[positionOf(chunk, key)] === key;
  }

  get first(): string | undefined {
    return this.#chunks[0]?.[0];
  }

  get last(): string | undefined {
    return this.#chunks.at(-1)?.at(-1);
  }

  /** Yields the keys from `key` on, in order. The caller must not add or remove keys meanwhile. */
  *from(key: string): Generator<string, void> {
    let at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    for (let i = positionOf(chunk, key); i < chunk.length; i += 1) yield chunk[i] ?? "";
    for (at += 1; at < this.#chunks.length; at += 1) yield* this.#chunks[at] ?? [];
  }

  /** Returns the first key after `key`: whoever goes on from it may add and remove keys meanwhile. */
  after(key: string): string | undefined {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return undefined;
    const place = positionOf(chunk, key);
    return chunk[chunk[place] === key ? place + 1 : place] ?? this.#chunks[at + 1]?.[0];
  }

  /** Returns the last key before `key`. */
  before(key: string): string | undefined {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? 0 : positionOf(chunk, key);
    return place > 0 ? chunk?.[place - 1] : this.#chunks[at - 1]?.at(-1);
  }

  [Symbol.iterator](): Generator<string, void> {
    return this.from("");
  }

  /** Returns the index of the last chunk whose first key is not after `key`, else 0. */
  #chunkOf(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle]?.[0] ?? "") <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Splits a chunk. Keys mostly arrive in order, so a chunk that grew at its end stays full. */
  #split(at: number, chunk: string[], grewAtEnd: boolean): void {
    this.#chunks.splice(at + 1, 0, chunk.splice(grewAtEnd ? chunkMax : chunkMax / 2));
  }

  #join(at: number, chunk: string[]): void {
    const next = this.#chunks[at + 1];
    const before = this.#chunks[at - 1];
    if (next !== undefined && next.length <= chunkMax / 4) {
      chunk.push(...next);
      this.#chunks.splice(at + 1, 1);
    } else if (before !== undefined && before.length <= chunkMax / 4) {
      before.push(...chunk);
      this.#chunks.splice(at, 1);
    }
  }
}

/** Sorted keys by group. Invariant: no group is empty. */
export type SortedSets = Map<string, SortedKeys>;

export function addToSorted(groups: SortedSets, group: string, key: string): void {
  const known = groups.get(group);
  if (known === undefined) groups.set(group, new SortedKeys(key));
  else known.add(key);
}

export function removeFromSorted(groups: SortedSets, group: string, key: string): void {
  const known = groups.get(group);
  known?.delete(key);
  if (known?.size === 0) groups.delete(group);
}

/** Returns the index of the first key that is not before `key`. */
function positionOf(chunk: readonly string[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sets by key. Invariant: no set is empty. */
export type Sets<Key, Value> = Map<Key, Set<Value>>;

export function addToSet<Key, Value>(sets: Sets<Key, Value>, key: Key, value: Value): void {
  const known = sets.get(key);
  if (known === undefined) sets.set(key, new Set([value]));
  else known.add(value);
}

export function removeFromSet<Key, Value>(sets: Sets<Key, Value>, key: Key, value: Value): void {
  const known = sets.get(key);
  known?.delete(value);
  if (known?.size === 0) sets.delete(key);
}

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

// Bounds for maps that keep rows in order of insertion.

/** Drops the oldest rows until at most `max` are left. */
export function dropOldest<K>(rows: Map<K, unknown>, max: number): void {
  if (rows.size <= max) return;
  for (const key of rows.keys()) {
    rows.delete(key);
    if (rows.size <= max) return;
  }
}

/**
 * Whether a path of edges leads from one of `starts` to one of `goals`. The search follows one edge from each
 * end in turn and stops when either side is exhausted. Its cost is that of the smaller side.
 */
export function leadsTo<T>(
  starts: Iterable<T>,
  goals: Iterable<T>,
  next: (at: T) => Iterable<T>,
  previous: (at: T) => Iterable<T>,
): boolean {
  const [reached, reaching] = [new Set(starts), new Set(goals)];
  for (const start of reached) if (reaching.has(start)) return true;
  const [ahead, behind] = [spread(reached, next), spread(reaching, previous)];
  for (;;) {
    const forward = ahead.next();
    if (forward.done) return false;
    if (reaching.has(forward.value)) return true;
    const backward = behind.next();
    if (backward.done) return false;
    if (reached.has(backward.value)) return true;
  }
}

/** Follows the edges from all nodes in `seen`, and yields the end of each. */
function* spread<T>(seen: Set<T>, next: (at: T) => Iterable<T>): Generator<T, void> {
  // Iterating over a set includes members added during the iteration.
  for (const at of seen) {
    for (const one of next(at)) {
      seen.add(one);
      yield one;
    }
  }
}

/**
 * Returns the shortest path from `start` to one of `goals`, both included, or null. The order of `next` decides
 * between paths of equal length.
 */
export function pathTo<T>(start: T, goals: ReadonlySet<T>, next: (at: T) => Iterable<T>): T[] | null {
  const before = new Map<T, T | null>([[start, null]]);
  for (const at of before.keys()) {
    for (const one of next(at)) {
      if (goals.has(one)) return backFrom(before, at, one);
      if (!before.has(one)) before.set(one, at);
    }
  }
  return null;
}

function backFrom<T>(before: ReadonlyMap<T, T | null>, last: T, goal: T): T[] {
  const path = [goal];
  for (let at: T | null = last; at !== null; at = before.get(at) ?? null) path.push(at);
  return path.reverse();
}

/**
 * Throws if `condition` is false, which means that a bug broke an invariant. The engine then voids the entry, rebuilds
 * the state without it and reports the message; see `apply`. A fault of a client is a refusal instead.
 */
export function assert(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new BrokenInvariant(message());
}

/** The error that `assert` throws: a bug in the core. */
class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}
