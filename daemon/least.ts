/** Returns the `max` least items, in order. It looks at each item once, and sorts only those that it returns. */
export function least<Item>(
  items: Iterable<Item>,
  max: number,
  compare: (a: Item, b: Item) => number,
): Item[] {
  const found: Item[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (found.length === max && (last === undefined || compare(item, last) >= 0)) continue;
    if (found.length === max) found.pop();
    let at = found.length;
    while (at > 0 && compare(item, found[at - 1] as Item) < 0) at -= 1;
    found.splice(at, 0, item);
  }
  return found;
}
