/**
 * Strings in the order of their code units, in chunks: to add, remove or find one costs a search and the moving of a
 * chunk, however many there are.
 *
 * Invariants: no chunk is empty or longer than `chunkMax`; the last of a chunk is before the first of the next.
 * Chunks that become small are joined with small neighbours.
 */
const chunkMax = 256;

export class SortedKeys {
  readonly #chunks: string[][] = [];
  #size = 0;

  constructor(...keys: readonly string[]) {
    for (const key of keys) this.add(key);
  }

  get size(): number {
    return this.#size;
  }

  /** False where it is there already. */
  add(key: string): boolean {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([key]);
      this.#size += 1;
      return true;
    }
    const place = placeOf(chunk, key);
    if (chunk[place] === key) return false;
    chunk.splice(place, 0, key);
    this.#size += 1;
    if (chunk.length > chunkMax) this.#split(at, chunk, place === chunkMax);
    return true;
  }

  /** False where it is not there. */
  delete(key: string): boolean {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? 0 : placeOf(chunk, key);
    if (chunk === undefined || chunk[place] !== key) return false;
    chunk.splice(place, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    else if (chunk.length <= chunkMax / 4) this.#join(at, chunk);
    return true;
  }

  has(key: string): boolean {
    const chunk = this.#chunks[this.#chunkOf(key)];
    return chunk !== undefined && chunk[placeOf(chunk, key)] === key;
  }

  get first(): string | undefined {
    return this.#chunks[0]?.[0];
  }

  /** Those at or behind `key`, in order. Nothing may be added or removed meanwhile. */
  *from(key: string): Generator<string, void> {
    let at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    for (let i = placeOf(chunk, key); i < chunk.length; i += 1) yield chunk[i] ?? "";
    for (at += 1; at < this.#chunks.length; at += 1) yield* this.#chunks[at] ?? [];
  }

  /** The last one before `key`. */
  before(key: string): string | undefined {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? 0 : placeOf(chunk, key);
    return place > 0 ? chunk?.[place - 1] : this.#chunks[at - 1]?.at(-1);
  }

  [Symbol.iterator](): Generator<string, void> {
    return this.from("");
  }

  /** The last chunk that does not begin behind `key`, else the first. */
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

  /** Keys mostly come in order: what is full at its end stays so. */
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

/** The first place whose key is not before `key`. */
function placeOf(chunk: readonly string[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
