/** Durations of the trail, counted in bounded memory. */
import { limits } from "../../protocol/limits.ts";

/** Digits that are kept of a duration: there are no more different ones of a length than these tell apart. */
const digits = 4;
/** A longer time, in milliseconds, counts as this one: some eleven days. */
const longestMs = 1_000_000_000;

/** Counts durations in milliseconds. Their sum and the longest one are exact; percentiles have four digits. */
export class Times {
  readonly #counts = new Map<number, number>();
  #count = 0;
  #totalMs = 0;
  #maxMs: number | null = null;

  get count(): number {
    return this.#count;
  }

  get totalMs(): number {
    return this.#totalMs;
  }

  /** Null: nothing was counted. */
  get maxMs(): number | null {
    return this.#maxMs;
  }

  add(ms: number): void {
    const known = Math.min(longestMs, Math.max(0, ms));
    const rounded = Number(known.toPrecision(digits));
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1);
    this.#count += 1;
    this.#totalMs += known;
    this.#maxMs = Math.max(this.#maxMs ?? 0, known);
  }

  /** Returns the least duration that the share of them does not exceed; null: nothing was counted. */
  percentile(share: number): number | null {
    return this.percentiles([share])[0] ?? null;
  }

  /** Returns the percentiles of shares that ascend; none, if nothing was counted. */
  percentiles(shares: readonly number[]): readonly number[] {
    const found: number[] = [];
    let counted = 0;
    for (const [ms, times] of [...this.#counts].sort(([a], [b]) => a - b)) {
      counted += times;
      for (let share = shares[found.length]; share !== undefined; share = shares[found.length]) {
        if (counted < Math.ceil(this.#count * share)) break;
        found.push(ms);
      }
    }
    return found;
  }
}

export interface HookTimes {
  readonly event: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Names of events that are counted on their own: they come from clients. */
const eventsMax = limits.hookKindsMax;

/** Counts by event how long hooks took. */
export class HookTimer {
  readonly #byEvent = new Map<string, Times>();

  add(event: string, ms: number): void {
    const name = this.#byEvent.has(event) || this.#byEvent.size < eventsMax ? event : "others";
    const times = this.#byEvent.get(name) ?? new Times();
    this.#byEvent.set(name, times);
    times.add(ms);
  }

  /** The most frequent event first. */
  get times(): readonly HookTimes[] {
    return [...this.#byEvent].map(timesOf).sort((a, b) => b.count - a.count);
  }

  get totalMs(): number {
    return [...this.#byEvent.values()].reduce((sum, { totalMs }) => sum + totalMs, 0);
  }
}

function timesOf([event, times]: readonly [string, Times]): HookTimes {
  const [p50Ms = 0, p95Ms = 0, p99Ms = 0] = times.percentiles([0.5, 0.95, 0.99]);
  return { event, count: times.count, p50Ms, p95Ms, p99Ms, maxMs: times.maxMs ?? 0 };
}
