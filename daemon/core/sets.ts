/** Sets by key. Invariant: no set is empty. */
export type Sets<Key, Value> = Map<Key, Set<Value>>;

export function addToSet<Key, Value>(sets: Sets<Key, Value>, key: Key, value: Value): void {
  const known = sets.get(key);
  if (known === undefined) sets.set(key, new Set([value]));
  else known.add(value);
}

export function removeFromSet<Key, Value>(sets: Sets<Key, Value>, key: Key, value: Value): void {
  const known = sets.get(key);
  known?.delete(value);
  if (known?.size === 0) sets.delete(key);
}
