/**
 * Lets a snapshot write the state piece by piece while later entries change it.
 *
 * Invariants: a row with readonly fields is changed through `writable` only, which first keeps the row as it was for
 * every snapshot under way; all other rows are replaced, never changed. So a snapshot that began after entry n writes
 * the state after entry n, whenever it reads a row.
 */

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
