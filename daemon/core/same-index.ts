import { PathIndex } from "./path-index.ts";
import { SortedKeys } from "./sorted-keys.ts";

/** Whether two indexes are equal: lists and sorted keys in the same order, maps and sets in any order. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isSame(value, b.get(key)));
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every(value => b.has(value));
  if (a instanceof SortedKeys && b instanceof SortedKeys) return a.size === b.size && isSame([...a], [...b]);
  if (a instanceof PathIndex && b instanceof PathIndex) return isSame(a.describe(), b.describe());
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, i) => isSame(value, b[i]));
  if (typeof a === "object" && a !== null && typeof b === "object" && b !== null)
    return isSame(Object.entries(a), Object.entries(b));
  return false;
}
