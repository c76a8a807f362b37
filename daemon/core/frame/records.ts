/**
 * Tables of rows with declared indexes. A table declares the key of a row and its indexes once. Putting a row, dropping it
 * and checking the indexes follow from that. No index is stored: `put` rebuilds it for the rows that a snapshot has.
 *
 * Invariants: a row is a value, which `put` replaces; each row is in every index that it belongs to, and in no other. A row
 * that is replaced keeps its place in the table and in the indexes that it stays in; one that comes stands last.
 */

import { limits } from "../../../protocol/limits.ts";
import { nearest } from "../../../protocol/text.ts";
import type { FileRef } from "./actors.ts";
import {
  addToSet,
  addToSorted,
  assert,
  removeFromSet,
  removeFromSorted,
  type Sets,
  SortedKeys,
  type SortedSets,
} from "./collections.ts";

// An index that finds path keys above or below another key. A key is `node:/absolute/path`, the root `node:`.
//
// Invariants: a search upwards finds only members added with `dir`. A search below a folder visits only the members below
// it, lazily. The caller must not add or remove members while it iterates. While the order is postponed, the first search
// below a folder makes it.

export class PathIndex {
  /** Members, each with how often it was added; or the caller's table. */
  readonly #members: ReadonlyMap<string, unknown>;
  /** The same map; null if the caller keeps the members. */
  readonly #counts: Map<string, number> | null;
  /** Members added with their subtree, each with how often. */
  readonly #dirs = new Map<string, number>();
  /** The members sorted by key, so that the members below a folder are adjacent; null: not yet. */
  #sorted: SortedKeys | null = new SortedKeys();

  /**
   * `members`: a table whose keys are the members. The caller adds each key once, when it puts the row, and removes the key
   * with the row. Without a table the index keeps its members, and counts how often each was added.
   */
  constructor(members: ReadonlyMap<string, unknown> | null = null) {
    const counts = new Map<string, number>();
    this.#counts = members === null ? counts : null;
    this.#members = members ?? counts;
  }

  add(key: string, dir: boolean): void {
    if (dir) this.#dirs.set(key, (this.#dirs.get(key) ?? 0) + 1);
    const count = this.#counts?.get(key) ?? 0;
    this.#counts?.set(key, count + 1);
    if (count === 0) this.#sorted?.add(key);
  }

  remove(key: string, dir: boolean): void {
    const counts = this.#counts;
    const count = counts === null ? 1 : counts.get(key);
    assert(count !== undefined, () => `path index: ${key} is not a member`);
    if (dir) decrease(this.#dirs, key);
    if (counts !== null) decrease(counts, key);
    if (count === 1) this.#sorted?.delete(key);
  }

  /** Keeps no order until it is needed: whoever adds and removes many members at once saves to sort each in and out. */
  postponeOrder(): void {
    this.#sorted = null;
  }

  /** Makes the order if it was postponed, and keeps it from now on. */
  makeOrder(): SortedKeys {
    this.#sorted ??= SortedKeys.of([...this.#members.keys()].sort());
    return this.#sorted;
  }

  /** Returns false only if no member overlaps `key`; true may be wrong. */
  touches(key: string, dir: boolean): boolean {
    return this.#members.size > 0 && (dir || this.#dirs.size > 0 || this.#members.has(key));
  }

  /** Whether any member was added with its subtree. */
  get hasFolders(): boolean {
    return this.#dirs.size > 0;
  }

  /** Returns members that overlap `key`: itself, folders above added with their subtree, and, if `dir`, all below. */
  overlapping(key: string, dir: boolean): Iterable<string> {
    return dir && this.#members.size > 0 ? this.#aroundAndBelow(key) : this.around(key);
  }

  /** Returns the member `key` itself, and folders above it added with their subtree. */
  around(key: string): readonly string[] {
    const isMember = this.#members.has(key);
    if (this.#dirs.size === 0) return isMember ? [key] : nothing;
    const found = isMember ? [key] : [];
    for (let up = parentOf(key); up !== null; up = parentOf(up)) if (this.#dirs.has(up)) found.push(up);
    return found;
  }

  /** Returns all entries as text, sorted, so that two indexes of the same members give the same text. */
  describe(): readonly string[] {
    const members = [...this.#members.keys()].map(
      key => `${key} ${this.#counts?.get(key) ?? 1} ${this.#dirs.get(key) ?? 0}`,
    );
    return [...members.sort(), ...this.makeOrder()];
  }

  /** Yields members below in key order, so that the order does not depend on past insertions and removals. */
  *#aroundAndBelow(key: string): Generator<string, void> {
    yield* this.around(key);
    const folder = `${key}/`;
    for (const member of this.makeOrder().from(folder)) {
      if (!member.startsWith(folder)) return;
      yield member;
    }
  }
}

const nothing: readonly string[] = [];

function decrease(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}

function parentOf(key: string): string | null {
  const cut = key.lastIndexOf("/");
  return cut === -1 ? null : key.slice(0, cut);
}

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

/** An index of rows. `Found`: what a look-up reads. */
interface Index<Row, Found> {
  empty(): Found;
  /** Notes that a row came (`before` is null), was replaced, or went (`next` is null). Returns the index. */
  move(found: Found, key: string, before: Row | null, next: Row | null): Found;
}

type Indexes<Row> = { readonly [Name in string]: Index<Row, unknown> };

/** The table: its rows by key, in the order they came, and each index under its name. */
type Table<Name extends string, Row, I extends Indexes<Row>> = {
  readonly [N in Name]: Map<string, Row>;
} & { readonly [N in keyof I]: ReturnType<I[N]["empty"]> };

/** Where a row stands in an index; null or undefined: it is not in it. */
type Key = string | null | undefined;

export class Records<Name extends string, Row, I extends Indexes<Row>> {
  readonly #name: Name;
  readonly #keyOf: (row: Row) => string;
  readonly #indexes: readonly (readonly [string, Index<Row, unknown>])[];

  /** `name`: the field that has the rows. */
  constructor(name: Name, keyOf: (row: Row) => string, indexes: I) {
    this.#name = name;
    this.#keyOf = keyOf;
    this.#indexes = Object.entries(indexes);
  }

  empty(): Table<Name, Row, I> {
    const indexes = this.#indexes.map(([name, index]) => [name, index.empty()]);
    return { [this.#name]: new Map(), ...Object.fromEntries(indexes) } as Table<Name, Row, I>;
  }

  /** Adds the row, or replaces the one that has its key. */
  put(table: Table<Name, Row, I>, row: Row): void {
    const key = this.#keyOf(row);
    const rows = this.#rowsOf(table);
    const before = rows.get(key) ?? null;
    rows.set(key, row);
    this.#move(table, key, before, row);
  }

  /** Removes the row that has the key of this one. */
  drop(table: Table<Name, Row, I>, row: Row): void {
    const key = this.#keyOf(row);
    const rows = this.#rowsOf(table);
    const before = rows.get(key);
    if (before === undefined) return;
    rows.delete(key);
    this.#move(table, key, before, null);
  }

  /** Removes the rows that have these keys. */
  dropAll(table: Table<Name, Row, I>, keys: Iterable<string> = []): void {
    for (const key of [...keys]) {
      const row = this.#rowsOf(table).get(key);
      if (row !== undefined) this.drop(table, row);
    }
  }

  /** Makes the row the last one of the table and of its indexes. */
  putLast(table: Table<Name, Row, I>, row: Row): void {
    this.drop(table, row);
    this.put(table, row);
  }

  /** Drops the oldest rows while there are more than `max`, with `places` only rows of these. Returns the dropped ones. */
  makeRoom(table: Table<Name, Row, I>, max: number, places?: SortedKeys): Row[] {
    const rows = this.#rowsOf(table);
    const dropped: Row[] = [];
    while (rows.size > max) {
      const [oldest] =
        places === undefined ? rows.keys() : [places.first].flatMap(place => place && idAt(place));
      const row = rows.get(oldest ?? "");
      if (row === undefined) break;
      this.drop(table, row);
      dropped.push(row);
    }
    return dropped;
  }

  /** Yields a sentence for each wrong key and index, and for too many rows. `rows`: what they are called. */
  *check(table: Table<Name, Row, I>, rows: string, max = Number.POSITIVE_INFINITY): Generator<string> {
    const fresh = this.empty();
    if (this.#rowsOf(table).size > max) yield `there are more ${rows} than may be`;
    for (const [key, row] of this.#rowsOf(table)) {
      if (key !== this.#keyOf(row))
        yield `${key.replaceAll("\n", " ")} is among the ${rows}, and its row has another key`;
      this.put(fresh, row);
    }
    const [live, rebuilt]: Record<string, unknown>[] = [table, fresh];
    for (const [name] of this.#indexes)
      if (!isSame(live?.[name], rebuilt?.[name])) yield `the index ${name} of the ${rows} is wrong`;
  }

  #rowsOf(table: { readonly [N in Name]: Map<string, Row> }): Map<string, Row> {
    return table[this.#name];
  }

  #move(table: Record<string, unknown>, key: string, before: Row | null, next: Row | null): void {
    for (const [name, index] of this.#indexes) {
      const found = table[name];
      const moved = index.move(found, key, before, next);
      if (moved !== found) table[name] = moved;
    }
  }
}

/** Keeps sort keys of rows in order. */
export function sorted<Row>(placeOf: (row: Row) => Key): Index<Row, SortedKeys> {
  return {
    empty: () => new SortedKeys(),
    move(found, _key, before, next) {
      const [was, is] = [before && placeOf(before), next && placeOf(next)];
      if (was === is) return found;
      if (typeof was === "string") found.delete(was);
      if (typeof is === "string") found.add(is);
      return found;
    },
  };
}

/** Keeps sort keys of rows in order, by group. */
export function sortedBy<Row>(
  groupOf: (row: Row) => string,
  placeOf: (row: Row) => string,
): Index<Row, SortedSets> {
  return {
    empty: () => new Map(),
    move(found, _key, before, next) {
      const [from, was] = before === null ? [null, null] : [groupOf(before), placeOf(before)];
      const [to, is] = next === null ? [null, null] : [groupOf(next), placeOf(next)];
      if (from === to && was === is) return found;
      if (from !== null) removeFromSorted(found, from, was);
      if (to !== null) addToSorted(found, to, is);
      return found;
    },
  };
}

/** Keeps the key of the one row that has a value. */
export function unique<Row>(valueIn: (row: Row) => Key): Index<Row, Map<string, string>> {
  return {
    empty: () => new Map(),
    move(found, key, before, next) {
      const [was, is] = [before && valueIn(before), next && valueIn(next)];
      if (was === is) return found;
      if (typeof was === "string" && found.get(was) === key) found.delete(was);
      if (typeof is === "string") found.set(is, key);
      return found;
    },
  };
}

/** Keeps the keys of the rows that have a value, in the order they got it. */
export function sets<Row>(valuesOf: (row: Row) => Key | readonly string[]): Index<Row, Sets<string, string>> {
  const listOf = (row: Row | null): readonly string[] => {
    const values = row && valuesOf(row);
    return typeof values === "string" ? [values] : (values ?? none);
  };
  return {
    empty: () => new Map(),
    move(found, key, before, next) {
      const are = listOf(next);
      const many = are.length > fewMax ? new Set(are) : null;
      for (const value of listOf(before))
        if (!(many?.has(value) ?? are.includes(value))) removeFromSet(found, value, key);
      for (const value of are) addToSet(found, value, key);
      return found;
    },
  };
}

const none: readonly string[] = [];
/** More values than this become a set before they are looked up. */
const fewMax = 16;

/** Keeps the paths of the rows' files. */
export function paths<Row>(
  filesOf: (row: Row) => readonly Pick<FileRef, "key" | "dir">[],
): Index<Row, PathIndex> {
  return {
    empty: () => new PathIndex(),
    move(found, _key, before, next) {
      const [were, are] = [before === null ? [] : filesOf(before), next === null ? [] : filesOf(next)];
      if (
        were.length === are.length &&
        were.every(({ key, dir }, i) => are[i]?.key === key && are[i].dir === dir)
      )
        return found;
      for (const { key, dir } of were) found.remove(key, dir);
      for (const { key, dir } of are) found.add(key, dir);
      return found;
    },
  };
}

/** Keeps the total of a number of the rows. */
export function total<Row>(numberOf: (row: Row) => number): Index<Row, number> {
  return {
    empty: () => 0,
    move: (found, _key, before, next) =>
      found - (before === null ? 0 : numberOf(before)) + (next === null ? 0 : numberOf(next)),
  };
}

/** Returns the sort key of a row by its number, behind which it has its id. */
export function placeOf({ n, id }: { readonly n: number; readonly id: string }): string {
  return `${n.toString(36).padStart(8, "0")} ${id}`;
}

/** Returns the id in a sort key. */
export function idAt(place: string): string {
  return place.slice(place.indexOf(" ") + 1);
}

// Finds what a request names: by an id such as `t-mhx3k2p1-1a`, the beginning of one, or its last part (`1a`).
// Invariant: `ids` and `ends` have the same ids; a lookup visits only those that match, or stand beside the name.

interface IdIndex {
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
