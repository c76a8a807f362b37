/**
 * Whether a path of arrows leads from one of `starts` to one of `goals`. Looks from both ends, an arrow each in turn,
 * and stops where one end has nothing left: costs what the smaller side has.
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

/** Follows the arrows from all that were `seen`, and yields where each one ends. */
function* spread<T>(seen: Set<T>, next: (at: T) => Iterable<T>): Generator<T, void> {
  // A set goes on with what is added to it meanwhile.
  for (const at of seen) {
    for (const one of next(at)) {
      seen.add(one);
      yield one;
    }
  }
}

/**
 * The shortest such path from `start` to one of `goals`, both included, or null. `next` decides which one is taken of
 * several.
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
