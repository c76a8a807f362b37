/** An ordered map that evicts its oldest entries instead of growing. */

interface Bounds<V, K = string> {
  readonly entriesMax: number;
  /** Limit of all values together, in the unit of `weightOf`. The latest entry stays, whatever its weight. */
  readonly weightMax?: number;
  /** Weight of a value, which must not change; the default is 0. */
  readonly weightOf?: (value: V) => number;
  /** Called with each key that is evicted, deleted or about to be set again. */
  readonly onDelete?: (key: K) => void;
}

/** A walk that stands still holds every table that its map has left since; after so many sets it is given up. */
const idleSetsMax = 64;

/** A map ordered by the time an entry was last set. Reading does not refresh an entry; setting it again does. */
export class BoundedMap<K, V> {
  readonly #bounds: Bounds<V, K>;
  readonly #entries = new Map<K, V>();
  /**
   * A walk from the oldest entry on, kept from one eviction to the next. V8 leaves a gap for each deleted entry until the
   * map is full: a new walk would step over thousands of gaps. Null: no eviction came lately.
   */
  #walk: Iterator<[K, V], undefined> | null = null;
  /** The oldest entry, where the walk stands; null: it is deleted, and the walk's next entry is the oldest. */
  #oldest: [K, V] | null = null;
  /** Sets since the walk's last step. */
  #idleSets = 0;
  #weight = 0;

  constructor(bounds: Bounds<V, K>) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Keys with their values, oldest first. */
  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  /** Values, oldest first. */
  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  /** Makes this the latest entry, and evicts the oldest ones beyond the bounds. */
  set(key: K, value: V): void {
    const entries = this.#entries;
    this.#idleSets += 1;
    if (this.#idleSets > idleSetsMax) this.#walk = this.#oldest = null;
    if (entries.has(key)) this.delete(key);
    entries.set(key, value);
    const { entriesMax, weightMax = Number.POSITIVE_INFINITY, weightOf } = this.#bounds;
    if (weightOf !== undefined) this.#weight += weightOf(value);
    if (entries.size <= entriesMax && this.#weight <= weightMax) return;
    this.forgetWhile(() => entries.size > 1 && (entries.size > entriesMax || this.#weight > weightMax));
  }

  /** Removes an entry; returns whether it existed. */
  delete(key: K): boolean {
    const value = this.#entries.get(key);
    if (!this.#entries.delete(key)) return false;
    if (this.#oldest?.[0] === key) this.#oldest = null;
    const { weightOf, onDelete } = this.#bounds;
    if (weightOf !== undefined) this.#weight -= weightOf(value as V);
    onDelete?.(key);
    return true;
  }

  /** Evicts the oldest entries up to the first one for which `isOver` is false. */
  forgetWhile(isOver: (value: V) => boolean): void {
    for (;;) {
      const oldest = this.#oldest ?? this.#findOldest();
      if (oldest === null || !isOver(oldest[1])) return;
      this.delete(oldest[0]);
    }
  }

  #findOldest(): [K, V] | null {
    this.#walk ??= this.#entries.entries();
    this.#idleSets = 0;
    this.#oldest = this.#walk.next().value ?? null;
    // A walk that has ended finds no entry that is set later.
    if (this.#oldest === null) this.#walk = null;
    return this.#oldest;
  }
}

/** Returns the `max` least items, in order. It looks at each item once, and sorts only those that it returns. */
export function least<Item>(
  items: Iterable<Item>,
  max: number,
  compare: (a: Item, b: Item) => number,
): Item[] {
  const found: Item[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (found.length === max && (last === undefined || compare(item, last) >= 0)) continue;
    if (found.length === max) found.pop();
    let at = found.length;
    while (at > 0 && compare(item, found[at - 1] as Item) < 0) at -= 1;
    found.splice(at, 0, item);
  }
  return found;
}
