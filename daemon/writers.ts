import { limits } from "../protocol/limits.ts";

/** Who wrote a file last, as the hooks told. */
export interface Writer {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
  /** Clock time in milliseconds. */
  readonly at: number;
  /** Where, for people. */
  readonly lines: string | null;
}

/** The latest writer of each file, in memory only; the oldest are forgotten. */
export class Writers {
  readonly #last = new Map<string, Writer>();

  wrote(key: string, writer: Writer): void {
    this.#last.delete(key);
    this.#last.set(key, writer);
    for (const oldest of this.#last.keys()) {
      if (this.#last.size <= limits.writersMax) break;
      this.#last.delete(oldest);
    }
  }

  /** The last write since `at`, if it was seen. */
  since(key: string, at: number): Writer | null {
    const last = this.#last.get(key);
    return last !== undefined && last.at >= at ? last : null;
  }
}
