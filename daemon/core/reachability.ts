/**
 * Whether a path of edges leads from one of `starts` to one of `goals`. The search follows one edge from each
 * end in turn and stops when either side is exhausted. Its cost is that of the smaller side.
 */
export function leadsTo<T>(
  starts: Iterable<T>,
  goals: Iterable<T>,
  next: (at: T) => Iterable<T>,
  previous: (at: T) => Iterable<T>,
): boolean {
  const [reached, reaching] = [new Set(starts), new Set(goals)];
  for (const start of reached) if (reaching.has(start)) return true;
  const [ahead, behind] = [spread(reached, next), spread(reaching, previous)];
  for (;;) {
    const forward = ahead.next();
    if (forward.done) return false;
    if (reaching.has(forward.value)) return true;
    const backward = behind.next();
    if (backward.done) return false;
    if (reached.has(backward.value)) return true;
  }
}

/** Follows the edges from all nodes in `seen`, and yields the end of each. */
function* spread<T>(seen: Set<T>, next: (at: T) => Iterable<T>): Generator<T, void> {
  // Iterating over a set includes members added during the iteration.
  for (const at of seen) {
    for (const one of next(at)) {
      seen.add(one);
      yield one;
    }
  }
}

/**
 * Returns the shortest path from `start` to one of `goals`, both included, or null. The order of `next` decides
 * between paths of equal length.
 */
export function pathTo<T>(start: T, goals: ReadonlySet<T>, next: (at: T) => Iterable<T>): T[] | null {
  const before = new Map<T, T | null>([[start, null]]);
  for (const at of before.keys()) {
    for (const one of next(at)) {
      if (goals.has(one)) return backFrom(before, at, one);
      if (!before.has(one)) before.set(one, at);
    }
  }
  return null;
}

function backFrom<T>(before: ReadonlyMap<T, T | null>, last: T, goal: T): T[] {
  const path = [goal];
  for (let at: T | null = last; at !== null; at = before.get(at) ?? null) path.push(at);
  return path.reverse();
}
