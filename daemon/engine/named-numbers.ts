/**
 * Finds which numbers things had behind a gap of the log: an id is made of the time of its request and a number that counts
 * on, and later entries name things by their ids.
 */

import { numberedKinds, numbersOf } from "../core/gap.ts";
import type { Entry } from "../core/tables/entries.ts";

/** The numbers in ids, by kind of id and the time in it. */
export type NamedNumbers = ReadonlyMap<string, ReadonlySet<number>>;

/** Returns the numbers in the ids that the entries name. */
export function namedNumbers(entries: readonly Entry[]): NamedNumbers {
  const named = new Map<string, Set<number>>();
  for (const { command } of entries) {
    // Entries of locks are most of a log, and name none.
    if (command.type.startsWith("lock_")) continue;
    for (const [, kind = "", ms = "", n = ""] of JSON.stringify(command).matchAll(idPattern)) {
      const key = keyOf(kind, Number.parseInt(ms, 36));
      const same = named.get(key) ?? new Set();
      named.set(key, same.add(Number.parseInt(n, 36)));
    }
  }
  return named;
}

/** Returns the last number of each counter before entry `from` of the list, where the ids behind it tell it. */
export function numbersBefore(entries: readonly Entry[], from: number, named: NamedNumbers) {
  const known = new Map<string, number>();
  for (const [counter, made] of madeBehind(entries, from)) {
    let [min, max, before] = [0, Number.POSITIVE_INFINITY, 0];
    for (const [key, count] of made) {
      for (const n of named.get(key) ?? []) {
        min = Math.max(min, n - before - count);
        max = Math.min(max, n - before - 1);
      }
      before += count;
    }
    if (min === max) known.set(counter, min);
  }
  return known;
}

/** Returns how many things each counter's requests made, by the key of their ids, from entry `from` to the next gap. */
function madeBehind(entries: readonly Entry[], from: number): Map<string, Map<string, number>> {
  const counters = new Map<string, Map<string, number>>();
  const retries = new Set<string>();
  const first = entries[from]?.seq ?? 0;
  for (const [i, { seq, command }] of entries.slice(from).entries()) {
    if (seq !== first + i) break;
    const numbers = numbersOf(command);
    if (numbers === null) continue;
    // A request that is sent again makes nothing.
    const retry = "retry" in command ? command.retry : undefined;
    const size = retries.size;
    if (retry !== undefined && retries.add(JSON.stringify(retry)).size === size) continue;
    const { kind, counter, count, wallMs } = numbers;
    const made = counters.get(counter) ?? new Map<string, number>();
    const key = keyOf(kind, wallMs);
    // Requests of one time are one: their ids do not tell which is whose.
    counters.set(counter, made.set(key, (made.get(key) ?? 0) + count));
  }
  return counters;
}

function keyOf(kind: string, ms: number): string {
  return `${kind} ${ms}`;
}

const idPattern = new RegExp(`"(${numberedKinds.join("|")})-([0-9a-z]{1,10})-([0-9a-z]{1,6})"`, "g");
