/** Bounds for maps that keep rows in order of insertion. */

/** Evicts the oldest rows with `drop` until at most `max` are left; `drop` must remove the row. */
export function dropOldest<K, V>(rows: Map<K, V>, max: number, drop: (key: K, row: V) => void): void {
  if (rows.size <= max) return;
  for (const [key, row] of rows) {
    drop(key, row);
    if (rows.size <= max) return;
  }
}
