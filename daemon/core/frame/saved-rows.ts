/**
 * What a snapshot has of a table of the state: fields of its header, and lists. A list keeps the order of the table, so a
 * state that is read has the same bytes when it is written.
 */

import type { Limits } from "../../../protocol/limits.ts";

// Lets a snapshot write the state piece by piece while later entries change it.
//
// Invariants: only `writable` changes a row with readonly fields. It first keeps the row as it was for every snapshot under
// way. All other rows are replaced, never changed. So a snapshot that began after entry n writes the state after entry n,
// whenever it reads a row.

/** A row whose fields may be set. */
export type Writable<Row> = {
  -readonly [F in keyof Row]: Row[F] extends ReadonlyMap<infer K, infer V> ? Map<K, V> : Row[F];
};

/** The rows that changed since a snapshot began, as they were then. */
export class Images {
  readonly #kept = new Map<object, object>();

  /** Returns the row as it was when the snapshot began. */
  of<Row extends object>(row: Row): Row {
    return (this.#kept.get(row) ?? row) as Row;
  }

  /** The rows that changed since then, as they are now. */
  get changed(): Iterable<object> {
    return this.#kept.keys();
  }

  keep(row: object): void {
    if (!this.#kept.has(row)) this.#kept.set(row, imageOf(row));
  }
}

/** The snapshots of one state that are under way; its tables share it. */
export class Preimages {
  readonly #open = new Set<Images>();

  /** A snapshot of the state begins; `end` follows when it has read all rows. */
  begin(): Images {
    const images = new Images();
    this.#open.add(images);
    return images;
  }

  end(images: Images): void {
    this.#open.delete(images);
  }

  /** Returns the row to be changed within the present entry. */
  writable<Row extends object>(row: Row): Writable<Row> {
    if (this.#open.size > 0) for (const images of this.#open) images.keep(row);
    return row as Writable<Row>;
  }
}

/** A copy of the row and of its maps, whose values are replaced, never changed. */
function imageOf(row: object): object {
  const image: Record<string, unknown> = { ...row };
  for (const [field, value] of Object.entries(image)) if (value instanceof Map) image[field] = new Map(value);
  return image;
}

/** `Table`: the table itself, which most need alone; `Whole`: the state in which it stands. */
export interface Rows<Table, Whole> {
  /** Makes the table, if the base does not know it. */
  empty?(limits: Limits): unknown;
  /** Single values, and lists that stay short. */
  readonly head?: Head<Table, object>;
  /** By the names on the lines of a snapshot. */
  readonly lists: { readonly [Name in string]: List<Table, unknown, Whole> };
  /** Fields in the rows of other tables, by the names of their lists. */
  readonly parts?: { readonly [Name in string]: Part<Table> };
}

interface Part<Table> {
  /** Notes the table as it is now. Returns what gives the fields of a row. */
  write(table: Table): (row: Identified) => object;
  /** Reads its fields, and returns the row without them. */
  read(table: Table, row: Identified): object;
}

export interface Identified {
  readonly id: string;
}

interface Head<Table, Fields> {
  write(table: Table): Fields;
  /** A field that older snapshots do not have may be absent. */
  read(table: Table, header: Fields): void;
}

interface List<Table, Stored, Whole = unknown> {
  /** Notes the rows as they are now; `images` has those that entries change before they are read. */
  write(table: Table, images: Images): Iterable<Stored>;
  read(table: Table, row: Stored, state: Whole): void;
}

export function head<Table, Fields extends object>(
  write: (table: Table) => Fields,
  read: (table: Table, header: Fields) => void,
): Head<Table, Fields> {
  return { write, read };
}

/** A number of the table, under `name`; a snapshot without it says 0. `isSparse`: 0 is not written. */
export function numberHead<Field extends string>(
  name: string,
  field: Field,
  isSparse = false,
): Head<{ [F in Field]: number }, { readonly [Name in string]?: number }> {
  return {
    write: table => (isSparse && table[field] === 0 ? {} : { [name]: table[field] }),
    read(table, header) {
      table[field] = header[name] ?? 0;
    },
  };
}

/** A table's rows, which entries replace and never change. */
export function valueList<Table, Row>(
  rowsOf: (table: Table) => ReadonlyMap<unknown, Row>,
  read: (table: Table, row: Row) => void,
): List<Table, Row> {
  return { write: table => [...rowsOf(table).values()], read };
}

/** A table's keys with their values, which entries replace and never change. */
export function pairList<Table, Key, Value, Whole>(
  rowsOf: (table: Table) => ReadonlyMap<Key, Value>,
  read: (table: Table, pair: readonly [Key, Value], state: Whole) => void,
): List<Table, readonly [Key, Value], Whole> {
  return {
    write(table) {
      const [keys, values] = [[...rowsOf(table).keys()], [...rowsOf(table).values()]];
      return later(keys, (key, i) => [key, values[i] as Value] as const);
    },
    read,
  };
}

/** A table's rows in the form in which they are stored, made when they are read. */
export function formList<Table, Row extends object, Stored>(
  rowsOf: (table: Table) => ReadonlyMap<unknown, Row>,
  formOf: (row: Row) => Stored,
  read: (table: Table, row: Stored) => void,
): List<Table, Stored> {
  return {
    write: (table, images) => later([...rowsOf(table).values()], row => formOf(images.of(row))),
    read,
  };
}

function later<Row, Stored>(rows: readonly Row[], make: (row: Row, i: number) => Stored): Iterable<Stored> {
  return {
    *[Symbol.iterator]() {
      for (const [i, row] of rows.entries()) yield make(row, i);
    },
  };
}
