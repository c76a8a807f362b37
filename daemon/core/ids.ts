/**
 * Finds what a request names: by an id such as `t-mhx3k2p1-1a`, the beginning of one, or its last part (`1a`).
 * Invariant: `ids` and `ends` have the same ids; a lookup visits only those that match, or stand beside the name.
 */
import { limits } from "../../protocol/limits.ts";
import { nearest } from "../../protocol/text.ts";
import { sorted } from "./records.ts";
import type { SortedKeys } from "./sorted-keys.ts";

export interface IdIndex {
  readonly ids: SortedKeys;
  /** For each id `endOf` it. */
  readonly ends: SortedKeys;
}

interface Identified {
  readonly project: string;
  readonly id: string;
}

/** The index as one of a table's; every key begins with its project, see `scopeOf`. */
export const idIndexes = {
  ids: sorted(({ project, id }: Identified) => scopeOf(project) + id),
  ends: sorted(({ project, id }: Identified) => scopeOf(project) + endOf(id)),
};

/** Returns the part of an index's keys that keeps the ids of one project together; an index of all has none. */
export function scopeOf(project: string): string {
  return `${project}\n`;
}

/** Returns `1a t-mhx3k2p1-1a` for `t-mhx3k2p1-1a`: people type the last part alone. */
export function endOf(id: string): string {
  return `${id.slice(id.lastIndexOf("-") + 1)} ${id}`;
}

/**
 * Returns the ids that begin with `name`, or that end with it if it has no dash: at most one more than are named. `scope`
 * is what the keys of the index begin with; see `scopeOf`.
 */
export function matchesOf({ ids, ends }: IdIndex, name: string, scope = ""): string[] {
  if (!isEnd(name)) return some(ids, scope + name).map(id => id.slice(scope.length));
  const prefix = `${scope}${name} `;
  return some(ends, prefix).map(end => end.slice(prefix.length));
}

/** Whether `name` is less than a whole id of this kind, such as `t` of `t-mhx3k2p1-1a`. */
export function isShortOf(kind: string, name: string): boolean {
  const [first, ...rest] = name.toLowerCase().split("-");
  return first !== kind || rest.length !== 2 || !rest.every(part => /^[0-9a-z]+$/.test(part));
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
export function nearestId({ ids }: Pick<IdIndex, "ids">, name: string, scope = ""): string | null {
  const around: string[] = [];
  const isOwn = (key: string | undefined): key is string => key?.startsWith(scope) === true;
  for (let key = ids.before(scope + name); isOwn(key) && around.length < limits.idsNamedMax; ) {
    around.push(key.slice(scope.length));
    key = ids.before(key);
  }
  for (const key of ids.from(scope + name)) {
    if (!isOwn(key) || around.length >= 2 * limits.idsNamedMax) break;
    around.push(key.slice(scope.length));
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
