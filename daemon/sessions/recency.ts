/** Names in the order in which they were seen, the latest first. Each operation costs the same however many there are. */

interface Place {
  readonly name: string;
  newer: Place | null;
  older: Place | null;
}

export class Recency {
  readonly #places = new Map<string, Place>();
  #latest: Place | null = null;

  get size(): number {
    return this.#places.size;
  }

  /** Makes the name the latest; adds it if it is new. */
  seen(name: string): void {
    const known = this.#places.get(name);
    if (known !== undefined && known === this.#latest) return;
    const place = known ?? { name, newer: null, older: null };
    if (known === undefined) this.#places.set(name, place);
    else this.#unlink(known);
    place.newer = null;
    place.older = this.#latest;
    if (this.#latest !== null) this.#latest.newer = place;
    this.#latest = place;
  }

  delete(name: string): void {
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.#places.delete(name);
    this.#unlink(place);
  }

  /** Yields the names, the latest first. The caller must not change the order meanwhile. */
  *[Symbol.iterator](): Generator<string, void> {
    for (let place = this.#latest; place !== null; place = place.older) yield place.name;
  }

  #unlink({ newer, older }: Place): void {
    if (newer === null) this.#latest = older;
    else newer.older = older;
    if (older !== null) older.newer = newer;
  }
}
