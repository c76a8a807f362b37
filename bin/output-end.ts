/** Keeps the end of an output. */
export class OutputEnd {
  readonly #max: number;
  #chunks: Buffer[] = [];
  #size = 0;

  /** Keeps the last `max` bytes. */
  constructor(max: number) {
    this.#max = max;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (this.#size - first.length < this.#max) break;
      this.#chunks.shift();
      this.#size -= first.length;
    }
    // Many small pieces cost far more than their bytes.
    if (this.#chunks.length > 1024) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** The end as text; a character that its beginning cuts is replaced. */
  get text(): string {
    return Buffer.concat(this.#chunks).subarray(-this.#max).toString("utf8");
  }
}
