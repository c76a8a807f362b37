import { limits } from "../../protocol/limits.ts";

/** Too many entries threw within a short time. */
export class RepeatedThrows extends Error {
  override readonly name = "RepeatedThrows";
}

/** Entries that threw lately: a few are voided, many end the daemon. */
export class Throws {
  #at: number[] = [];

  /** Counts entry `seq`, which threw at `now` (ms); the error that ends the daemon if there are too many by now. */
  add(seq: number, now: number): RepeatedThrows | null {
    this.#at = [...this.#at.filter(at => at > now - limits.throwsWindowMs), now];
    if (this.#at.length < limits.throwsMax) return null;
    const minutes = limits.throwsWindowMs / 60_000;
    return new RepeatedThrows(
      `${this.#at.length} entries threw within ${minutes} minutes; the last is ${seq}`,
    );
  }
}
