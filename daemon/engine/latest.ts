/** The latest items of a sequence. Invariant: holds the last `most` added, fewer if there were not as many. */
export class Latest<Item> {
  readonly #most: number;
  #items: Item[] = [];
  /** Where the oldest one is, once the list is full. */
  #oldest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#items.length;
  }

  clear(): void {
    this.#items = [];
    this.#oldest = 0;
  }

  /** Adds an item, and returns the one that no longer is among the latest. */
  add(item: Item): Item | undefined {
    if (this.#items.length < this.#most) {
      this.#items.push(item);
      return undefined;
    }
    const gone = this.#items[this.#oldest];
    this.#items[this.#oldest] = item;
    this.#oldest = (this.#oldest + 1) % this.#most;
    return gone;
  }

  /** The items, oldest first. */
  get inOrder(): readonly Item[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)];
  }
}
