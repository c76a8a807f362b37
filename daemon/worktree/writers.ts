import { limits } from "../../protocol/limits.ts";

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

/** A write that was allowed. */
export interface Writing extends Pick<Writer, "session" | "agent" | "name" | "at"> {
  /** The tool use. */
  readonly flight: string;
}

/**
 * The latest writer of each file, and who was allowed to write it last when nothing has told of that write's end: the
 * report may come after the end of the turn. In memory only; the oldest are forgotten.
 */
export class Writers {
  readonly #last = new Map<string, Writer>();
  readonly #writing = new Map<string, Writing>();

  wrote(key: string, writer: Writer): void {
    keepLatest(this.#last, key, writer);
  }

  /** A write of the file begins. */
  began(key: string, writing: Writing): void {
    keepLatest(this.#writing, key, writing);
  }

  /** The end of a write was told. */
  ended(key: string, flight: string): void {
    if (this.#writing.get(key)?.flight === flight) this.#writing.delete(key);
  }

  /** Whose write of the file has begun last, when its end was not told. */
  unreported(key: string): Writing | null {
    return this.#writing.get(key) ?? null;
  }

  /** The last write since `at`, if it was seen. */
  since(key: string, at: number): Writer | null {
    const last = this.#last.get(key);
    return last !== undefined && last.at >= at ? last : null;
  }
}

function keepLatest<T>(rows: Map<string, T>, key: string, row: T): void {
  rows.delete(key);
  rows.set(key, row);
  for (const oldest of rows.keys()) {
    if (rows.size <= limits.writersMax) break;
    rows.delete(oldest);
  }
}
