/** Which tasks the drawing has, and what needs what among them. */
import type { TaskRow } from "../../../../protocol/schemas/task.ts";

/** Tasks in a drawing: a layout of so many takes a fraction of a second, and a person still finds their way. */
const drawnMax = 200;

/** Tasks that hang together. `needs` are pairs: the first task needs the second one. */
export interface Part {
  readonly tasks: readonly TaskRow[];
  readonly needs: readonly (readonly [string, string])[];
}

export interface Graph {
  readonly parts: readonly Part[];
  /** Tasks that need no other one, and that none needs: they are in no part. */
  readonly alone: number;
  /** Tasks that are left out because the drawing is full. */
  readonly leftOut: number;
}

/**
 * Returns the graph of the tasks `wanted` and of all that they need in `known`. If that is more than `max`, those are taken
 * that hang together with the tasks of `first`, nearest first, and then with the first ones of `wanted`.
 */
export function graphOf(
  wanted: readonly TaskRow[],
  known: readonly TaskRow[],
  first: readonly string[],
  max: number = drawnMax,
): Graph {
  const byId = new Map(known.map(task => [task.id, task]));
  const reached = new Map(wanted.map(task => [task.id, task]));
  const neighbours = new Map<string, string[]>();
  const join = (one: string, other: string) => {
    const found = neighbours.get(one);
    if (found === undefined) neighbours.set(one, [other]);
    else found.push(other);
  };
  // Tasks that are added here are visited, too.
  for (const { id, dependsOn } of reached.values()) {
    for (const need of dependsOn) {
      const task = byId.get(need);
      if (task === undefined) continue;
      reached.set(need, task);
      join(id, need);
      join(need, id);
    }
  }
  const parts: Part[] = [];
  const seen = new Set<string>();
  const grow = (seeds: readonly string[]) => {
    const from = seen.size;
    for (const id of seeds) if (seen.size < max) seen.add(id);
    if (seen.size === from) return;
    const part = [...seen].slice(from);
    for (const id of part) {
      for (const next of neighbours.get(id) ?? []) {
        if (seen.has(next) || seen.size >= max) continue;
        seen.add(next);
        part.push(next);
      }
    }
    parts.push(partOf(part, reached));
  };
  const joined = [...reached.keys()].filter(id => neighbours.has(id));
  grow(first.filter(id => neighbours.has(id)));
  for (const id of joined) if (!seen.has(id)) grow([id]);
  return { parts, alone: reached.size - joined.length, leftOut: joined.length - seen.size };
}

function partOf(ids: readonly string[], tasks: ReadonlyMap<string, TaskRow>): Part {
  // In the order of the ids, so that a part is the same from wherever it was reached.
  const sorted = [...ids].sort();
  const own = new Set(sorted);
  const found = sorted.flatMap(id => tasks.get(id) ?? []);
  const needs = found.flatMap(({ id, dependsOn }) =>
    dependsOn.filter(need => own.has(need)).map(need => [id, need] as const),
  );
  return { tasks: found, needs };
}
