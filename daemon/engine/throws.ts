/** Decides when entries throw too often for the daemon to go on. */
import { limits } from "../../protocol/limits.ts";

/** Too many entries threw within a short time. */
export class RepeatedThrows extends Error {
  override readonly name = "RepeatedThrows";
}

/** Counts entries that threw lately: a few are voided, many end the daemon. */
export class Throws {
  #at: number[] = [];

  /** Counts entry `seq`, which threw at `now` (ms); returns the error that ends the daemon if there are too many. */
  add(seq: number, now: number): RepeatedThrows | null {
    this.#at = [...this.#at.filter(at => at > now - limits.throwsWindowMs), now];
    if (this.#at.length < limits.throwsMax) return null;
    const minutes = limits.throwsWindowMs / 60_000;
    return new RepeatedThrows(
      `${this.#at.length} entries threw within ${minutes} minutes; the last is ${seq}`,
    );
  }
}

/** Returns what was thrown as an error. */
export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
