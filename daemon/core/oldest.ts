/** Bounds for maps that keep rows in order of insertion. */

/** Drops the oldest rows until at most `max` are left. */
export function dropOldest<K>(rows: Map<K, unknown>, max: number): void {
  if (rows.size <= max) return;
  for (const key of rows.keys()) {
    rows.delete(key);
    if (rows.size <= max) return;
  }
}
