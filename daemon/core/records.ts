/**
 * Tables of rows with declared indexes. A table says once what the key of a row is and which indexes it has; putting and
 * dropping a row, and the check of the indexes, follow from that. No index is stored: rows read from a snapshot are put.
 *
 * Invariants: a row is a value, which `put` replaces; each row is in every index that it belongs to, and in no other. A row
 * that is replaced keeps its place in the table and in the indexes that it stays in; one that comes stands last.
 */
import type { FileRef } from "./file-ref.ts";
import { PathIndex } from "./path-index.ts";
import { isSame } from "./same-index.ts";
import { addToSet, removeFromSet, type Sets } from "./sets.ts";
import { addToSorted, removeFromSorted, SortedKeys, type SortedSets } from "./sorted-keys.ts";

/** An index of rows. `Found`: what a look-up reads. */
export interface Index<Row, Found> {
  empty(): Found;
  /** Notes that a row came (`before` is null), was replaced, or went (`next` is null). Returns the index. */
  move(found: Found, key: string, before: Row | null, next: Row | null): Found;
}

type Indexes<Row> = { readonly [Name in string]: Index<Row, unknown> };

/** The table: its rows by key, in the order they came, and each index under its name. */
export type Table<Name extends string, Row, I extends Indexes<Row>> = {
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
/** Of more values a set is made before they are looked up. */
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
