/** Finds and names dependency cycles. Invariant: the refusal comes before any task changes. */
import { type Refusal, refuse } from "../../../protocol/codes.ts";

/**
 * Returns a cycle that is reachable from `starts`, as a path that ends with its first task again; or null.
 * The search visits every task once and does not recurse, because a path may contain all tasks.
 */
export function findCycle(
  starts: Iterable<string>,
  dependsOn: (id: string) => readonly string[],
): string[] | null {
  const done = new Set<string>();
  for (const start of starts) {
    if (done.has(start)) continue;
    const path: { readonly id: string; readonly rest: Iterator<string> }[] = [];
    const onPath = new Set<string>();
    const enter = (id: string) => {
      path.push({ id, rest: dependsOn(id)[Symbol.iterator]() });
      onPath.add(id);
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        path.pop();
        onPath.delete(top.id);
        done.add(top.id);
      } else if (onPath.has(next.value)) {
        const ids = path.map(({ id }) => id);
        return [...ids.slice(ids.indexOf(next.value)), next.value];
      } else if (!done.has(next.value)) {
        enter(next.value);
      }
    }
  }
  return null;
}

export function cycleRefusal(cycle: readonly string[]): Refusal {
  const path = shortened(cycle).join(" → ");
  const error = `${cycle[0]} would depend on itself: ${path}; leave one of these dependencies out`;
  return refuse("task_cycle", error, { cycle: shortened(cycle) });
}

const shownMax = 20;

function shortened(cycle: readonly string[]): string[] {
  if (cycle.length <= shownMax) return [...cycle];
  const half = shownMax / 2;
  return [...cycle.slice(0, half), `${cycle.length - shownMax} more`, ...cycle.slice(-half)];
}
