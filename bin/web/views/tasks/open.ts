/** Which tasks are still to do, and the chain of them that decides when all is done. */
import type { TaskRow } from "../../../../protocol/schemas/task.ts";

/** Returns the tasks that are pending or active, and the failed ones that such a task still needs. */
export function openTasks(tasks: readonly TaskRow[]): readonly TaskRow[] {
  const byId = new Map(tasks.map(task => [task.id, task]));
  const open = new Set(tasks.filter(({ status }) => status === "pending" || status === "active"));
  for (const task of open) {
    for (const id of task.dependsOn) {
      const need = byId.get(id);
      if (need?.status === "failed") open.add(need);
    }
  }
  return tasks.filter(task => open.has(task));
}

/**
 * Returns the critical path: the longest chain of open tasks of which each needs the one before it. A chain is as long as it
 * has tasks, since Kite does not know how long one takes; of chains of one length the one whose last task comes first in
 * `open` counts. A single task is no chain.
 */
export function criticalPath(open: readonly TaskRow[]): readonly string[] {
  const lengths = new Map<string, number>();
  const before = new Map<string, string>();
  for (const task of inOrder(open)) {
    let length = 1;
    for (const id of task.dependsOn) {
      const reached = 1 + (lengths.get(id) ?? 0);
      if (reached <= length) continue;
      length = reached;
      before.set(task.id, id);
    }
    lengths.set(task.id, length);
  }
  let last: string | undefined;
  for (const { id, status } of open)
    if (status !== "failed" && (lengths.get(id) ?? 0) > (lengths.get(last ?? "") ?? 1)) last = id;
  const path: string[] = [];
  for (let id = last; id !== undefined; id = before.get(id)) path.push(id);
  return path.reverse();
}

/** Returns the tasks so that each comes after those that it needs. */
function inOrder(tasks: readonly TaskRow[]): readonly TaskRow[] {
  const known = new Set(tasks.map(({ id }) => id));
  const dependents = new Map<string, TaskRow[]>();
  const missing = new Map<TaskRow, number>();
  for (const task of tasks) {
    const needs = task.dependsOn.filter(id => known.has(id));
    missing.set(task, needs.length);
    for (const id of needs) {
      const found = dependents.get(id);
      if (found === undefined) dependents.set(id, [task]);
      else found.push(task);
    }
  }
  const order = tasks.filter(task => missing.get(task) === 0);
  for (const { id } of order) {
    for (const dependent of dependents.get(id) ?? []) {
      const left = (missing.get(dependent) ?? 0) - 1;
      missing.set(dependent, left);
      if (left === 0) order.push(dependent);
    }
  }
  return order;
}
