/** Counts by names that come from clients and agents, in bounded memory. */
import { limits } from "../../protocol/limits.ts";
import type { Counts } from "./figures.ts";

export function increment(counts: Map<string, number>, name: string): void {
  const known = counts.has(name) || counts.size < limits.hookKindsMax ? name : "others";
  counts.set(known, (counts.get(known) ?? 0) + 1);
}

/** The most frequent first. */
export function countsOf(counts: ReadonlyMap<string, number>): Counts {
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}
