/**
 * Strings sorted by code units, in chunks. To add, remove or find a key costs a binary search and one chunk's move.
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
