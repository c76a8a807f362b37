/**
 * Finds what a request names: by an id such as `t-mhx3k2p1-1a`, the beginning of one, or its last part (`1a`).
 * Invariant: `ids` and `ends` have the same ids; a lookup visits only those that match, or stand beside the name.
 */
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/nearest.ts";
import type { SortedKeys } from "./sorted-keys.ts";

export interface IdIndex {
  readonly ids: SortedKeys;
  /** For each id `endOf` it. */
  readonly ends: SortedKeys;
}

/** Returns `1a t-mhx3k2p1-1a` for `t-mhx3k2p1-1a`: people type the last part alone. */
export function endOf(id: string): string {
  return `${id.slice(id.lastIndexOf("-") + 1)} ${id}`;
}

/** Returns the ids that begin with `name`, or that end with it if it has no dash: at most one more than are named. */
export function matchesOf({ ids, ends }: IdIndex, name: string): string[] {
  return isEnd(name) ? some(ends, `${name} `).map(end => end.slice(name.length + 1)) : some(ids, name);
}

/** Whether `name` names the id: it is the id, begins it, or ends it if it has no dash. */
export function isMatch(id: string, name: string): boolean {
  return isEnd(name) ? endOf(id).startsWith(`${name} `) : id.startsWith(name);
}

/** Returns the sentence for several matches, and those that it names. `things` is their noun in the plural. */
export function ambiguity(
  things: string,
  name: string,
  matches: readonly string[],
): { readonly error: string; readonly shown: readonly string[] } {
  const shown = matches.slice(0, limits.idsNamedMax);
  const listed = shown.join(", ") + (matches.length > shown.length ? " and more" : "");
  const how = isEnd(name) ? "end" : "begin";
  return { error: `several ${things} ${how} with ${name}: ${listed}; give more of the id`, shown };
}

/** Returns the id most like `name`, or null. It compares only ids adjacent in sort order, not all of them. */
export function nearestId({ ids }: Pick<IdIndex, "ids">, name: string): string | null {
  const around: string[] = [];
  for (let id = ids.before(name); id !== undefined && around.length < limits.idsNamedMax; ) {
    around.push(id);
    id = ids.before(id);
  }
  for (const id of ids.from(name)) {
    if (around.length >= 2 * limits.idsNamedMax) break;
    around.push(id);
  }
  return nearest(name, around);
}

function isEnd(name: string): boolean {
  return !name.includes("-");
}

/** Returns the keys with this prefix, at most one more than a refusal names. */
function some(keys: SortedKeys, prefix: string): string[] {
  const found: string[] = [];
  for (const key of keys.from(prefix)) {
    if (!key.startsWith(prefix) || found.length > limits.idsNamedMax) break;
    found.push(key);
  }
  return found;
}
