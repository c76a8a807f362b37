/**
 * What a snapshot has of a slice of the state: fields of its header, and lists. A list keeps the order of the table, so a
 * state that is read has the same bytes when it is written.
 */
import type { Limits } from "../../protocol/limits.ts";
import type { Images } from "./preimages.ts";

/** `S`: the tables of the slice, within the state. */
export interface Rows<S> {
  /** Makes the table, if the base does not know it. */
  empty?(limits: Limits): unknown;
  /** Single values, and lists that stay short. */
  readonly head?: Head<S, object>;
  /** By the names on the lines of a snapshot. */
  readonly lists: { readonly [Name in string]: List<S, unknown> };
}

interface Head<S, Fields> {
  write(state: S): Fields;
  /** A field that older snapshots do not have may be absent. */
  read(state: S, header: Fields): void;
}

interface List<S, Stored> {
  /** Notes the rows as they are now; `images` has those that entries change before they are read. */
  write(state: S, images: Images): Iterable<Stored>;
  read(state: S, row: Stored): void;
}

export function head<S, Fields extends object>(
  write: (state: S) => Fields,
  read: (state: S, header: Fields) => void,
): Head<S, Fields> {
  return { write, read };
}

/** The number of the last row, if there ever was one. */
export function countHead<S, Name extends string>(
  name: Name,
  tableOf: (state: S) => { count: number },
): Head<S, { readonly [N in Name]?: number }> {
  return {
    write(state) {
      const { count } = tableOf(state);
      return (count === 0 ? {} : { [name]: count }) as { readonly [N in Name]?: number };
    },
    read(state, header) {
      tableOf(state).count = header[name] ?? 0;
    },
  };
}

/** A table's rows, which entries replace and never change. */
export function valueList<S, Row>(
  tableOf: (state: S) => ReadonlyMap<unknown, Row>,
  read: (state: S, row: Row) => void,
): List<S, Row> {
  return { write: state => [...tableOf(state).values()], read };
}

/** A table's keys with their values, which entries replace and never change. */
export function pairList<S, Key, Value>(
  tableOf: (state: S) => ReadonlyMap<Key, Value>,
  read: (state: S, pair: readonly [Key, Value]) => void,
): List<S, readonly [Key, Value]> {
  return {
    write(state) {
      const [keys, values] = [[...tableOf(state).keys()], [...tableOf(state).values()]];
      return {
        *[Symbol.iterator]() {
          for (const [i, key] of keys.entries()) yield [key, values[i] as Value] as const;
        },
      };
    },
    read,
  };
}

/** A table's rows in the form in which they are stored, made when they are read. */
export function formList<S, Row extends object, Stored>(
  tableOf: (state: S) => ReadonlyMap<unknown, Row>,
  formOf: (row: Row) => Stored,
  read: (state: S, row: Stored) => void,
): List<S, Stored> {
  return {
    write(state, images) {
      const rows = [...tableOf(state).values()];
      return {
        *[Symbol.iterator]() {
          for (const row of rows) yield formOf(images.of(row));
        },
      };
    },
    read,
  };
}
