/** The order in which branches are merged: as their authors' tasks depend on each other, else as given. Pure. */

/** A branch with the tasks of its author. */
export interface Placed {
  readonly branch: string;
  /** Ids of tasks that the author works on, or has done. */
  readonly tasks: readonly string[];
}

export interface Ordered<B extends Placed> {
  readonly one: B;
  /** The branches that have to be merged first: of the same command, or in the queue already. */
  readonly after: readonly string[];
}

/**
 * Returns the branches in their order, or a cycle of them. Tasks never depend on each other in a cycle, but authors with
 * several tasks can: each has done something that the other builds on. `dependencies`: the tasks that a task depends on, by
 * way of others too. `queued`: what waits for the base already.
 */
export function inOrder<B extends Placed>(
  branches: readonly B[],
  queued: readonly Placed[],
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): readonly Ordered<B>[] | { readonly cycle: readonly string[] } {
  const after = new Map(
    branches.map(one => {
      const needs = new Set(one.tasks.flatMap(task => [...(dependencies.get(task) ?? [])]));
      const others = [...queued, ...branches].filter(other => other.branch !== one.branch);
      const first = others.filter(other => other.tasks.some(task => needs.has(task)));
      return [one.branch, new Set(first.map(({ branch }) => branch))] as const;
    }),
  );
  const ordered: Ordered<B>[] = [];
  let left = [...branches];
  while (left.length > 0) {
    const open = new Set(left.map(({ branch }) => branch));
    const next = left.find(({ branch }) => ![...(after.get(branch) ?? [])].some(one => open.has(one)));
    if (next === undefined) return { cycle: cycleIn(left, after) };
    ordered.push({ one: next, after: [...(after.get(next.branch) ?? [])] });
    left = left.filter(one => one !== next);
  }
  return ordered;
}

/** Returns branches of which each waits for the next, and the last for the first; each of `left` waits for one of them. */
function cycleIn(
  left: readonly Placed[],
  after: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const open = new Set(left.map(({ branch }) => branch));
  const path: string[] = [];
  let at = left[0]?.branch;
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = [...(after.get(at) ?? [])].find(one => open.has(one));
  }
  return at === undefined ? path : path.slice(path.indexOf(at));
}
