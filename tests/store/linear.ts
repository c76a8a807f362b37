/** Whether what clients were told of one object fits any order of their operations that keeps to their times. */

/** One operation on the object. `from` and `to` are places in the order in which the clients' process saw things happen. */
export interface Interval<Op> {
  readonly op: Op;
  readonly from: number;
  /** Infinity: nobody heard when it was over. */
  readonly to: number;
  /** False: it may as well never have happened. */
  readonly isCertain: boolean;
}

export interface Model<State, Op> {
  readonly initial: State;
  /** Returns the state behind the operation, or null if the operation cannot have this outcome in this state. */
  readonly step: (state: State, op: Op) => State | null;
  readonly textOf: (state: State) => string;
}

/** More steps than that count as a fault of the history, which is too long for this search. */
const stepsMax = 2_000_000;

/**
 * Searches for an order in which each operation comes between its beginning and its end, and each outcome follows from those
 * before it: the search of Wing and Gong, which notes where it has been. Returns whether there is one.
 */
export function isLinearizable<State, Op>(
  operations: readonly Interval<Op>[],
  { initial, step, textOf }: Model<State, Op>,
): boolean {
  const all = [...operations].sort((a, b) => a.from - b.from);
  const seen = new Set<string>();
  let steps = 0;
  const open: { readonly done: bigint; readonly state: State }[] = [{ done: 0n, state: initial }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { done, state } = next;
    const left = all.flatMap((one, i) => ((done >> BigInt(i)) & 1n ? [] : [{ ...one, i }]));
    if (!left.some(({ isCertain }) => isCertain)) return true;
    const earliestEnd = Math.min(
      ...left.map(({ to, isCertain }) => (isCertain ? to : Number.POSITIVE_INFINITY)),
    );
    for (const { op, from, i } of left) {
      if (from > earliestEnd) break;
      const after = step(state, op);
      if (after === null) continue;
      const place = done | (1n << BigInt(i));
      const key = `${place} ${textOf(after)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      open.push({ done: place, state: after });
    }
    steps += 1;
    if (steps > stepsMax) throw new Error(`${operations.length} operations are too many to order`);
  }
  return false;
}
