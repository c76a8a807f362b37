/** No task waits for itself, whether directly or through others: the client would accept it, and none could be begun. */
import type { TaskChange } from "../../../../hooks/seam/teams.ts";
import type { TeamFinding } from "../../../../protocol/lead/team.ts";
import type { Tasks } from "./facts.ts";

export function dependencyCycle(change: TaskChange, tasks: Tasks): TeamFinding[] {
  const added = new Map<string, readonly string[]>();
  const add = (task: string, waitsFor: string) => added.set(task, [...(added.get(task) ?? []), waitsFor]);
  for (const other of change.addBlockedBy) add(change.task, other);
  for (const other of change.addBlocks) add(other, change.task);
  const next = (task: string) => [...(tasks.get(task)?.blockedBy ?? []), ...(added.get(task) ?? [])];
  for (const [task, others] of added) {
    for (const other of others) {
      const path = pathTo(task, other, next);
      if (path !== null) return [{ rule: "dependency_cycle", tasks: [task, ...path.slice(0, -1)] }];
    }
  }
  return [];
}

/** The cycles of a list, each once, by the tasks on them. */
export function cyclesIn(tasks: Tasks): (readonly string[])[] {
  const onCycle = new Set<string>();
  const found: (readonly string[])[] = [];
  for (const [id, { blockedBy }] of tasks) {
    if (onCycle.has(id)) continue;
    for (const other of blockedBy) {
      const path = pathTo(id, other, task => tasks.get(task)?.blockedBy ?? []);
      if (path === null) continue;
      const cycle = [id, ...path.slice(0, -1)];
      for (const one of cycle) onCycle.add(one);
      found.push(cycle);
      break;
    }
  }
  return found;
}

/** The tasks on the way from `from` to `to`, both included; null if there is none. Visits each task once. */
function pathTo(to: string, from: string, next: (task: string) => readonly string[]): string[] | null {
  const before = new Map<string, string | null>([[from, null]]);
  for (const task of before.keys()) {
    if (task === to) {
      const path: string[] = [];
      for (let one: string | null = task; one !== null; one = before.get(one) ?? null) path.unshift(one);
      return path;
    }
    for (const one of next(task)) if (!before.has(one)) before.set(one, task);
  }
  return null;
}
