/** Who wrote each file last. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";

/** The last write of a file, as the hooks reported it. */
export interface Writer {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
  /** Clock time in milliseconds. */
  readonly at: number;
  /** The changed lines, for people. */
  readonly lines: string | null;
}

/** A write that was allowed. */
export interface Writing extends Pick<Writer, "session" | "agent" | "name" | "at"> {
  /** The tool use. */
  readonly flight: string;
}

/**
 * The latest writer of each file, and the latest allowed writer whose write's end was not reported: that report may
 * come after the end of the turn. In memory only; the oldest entries are evicted.
 */
export class Writers {
  readonly #last = new BoundedMap<string, Writer>({ entriesMax: limits.writersMax });
  readonly #writing = new BoundedMap<string, Writing>({ entriesMax: limits.writersMax });

  wrote(key: string, writer: Writer): void {
    this.#last.set(key, writer);
  }

  /** A write of the file begins. */
  began(key: string, writing: Writing): void {
    this.#writing.set(key, writing);
  }

  /** The end of a write was reported. */
  ended(key: string, flight: string): void {
    if (this.#writing.get(key)?.flight === flight) this.#writing.delete(key);
  }

  /** The actor whose write of the file began last, if its end was not reported. */
  unreported(key: string): Writing | null {
    return this.#writing.get(key) ?? null;
  }

  /** The last write that was reported. */
  last(key: string): Writer | null {
    return this.#last.get(key) ?? null;
  }

  /** The last write since `at`, if the daemon saw it. */
  since(key: string, at: number): Writer | null {
    const last = this.#last.get(key);
    return last !== undefined && last.at >= at ? last : null;
  }
}
