/** The longest chain of unfinished tasks, each of which depends on the one before. */
import type { TaskRow } from "../../../protocol/schemas/task.ts";

/**
 * Returns the chain, the task to do first at its beginning; empty if all tasks are done. Of several, the one whose last task
 * is the oldest. Its cost grows with tasks and dependencies. The daemon accepts no cycle; one in the rows ends the chain.
 */
export function criticalPath(tasks: readonly TaskRow[]): TaskRow[] {
  const open = new Map(tasks.filter(({ status }) => status !== "done").map(task => [task.id, task]));
  const before = new Map<string, string | null>();
  const lengths = new Map<string, number>();
  for (const id of open.keys()) measure(id, open, before, lengths);
  let last: string | null = null;
  for (const [id, length] of lengths) if (length > (last === null ? 0 : (lengths.get(last) ?? 0))) last = id;
  const chain: TaskRow[] = [];
  for (let id = last; id !== null; id = before.get(id) ?? null) {
    const task = open.get(id);
    if (task !== undefined) chain.unshift(task);
  }
  return chain;
}

/** Measures the longest chain that ends with a task, without recursion: a chain may be as long as there are tasks. */
function measure(
  from: string,
  open: ReadonlyMap<string, TaskRow>,
  before: Map<string, string | null>,
  lengths: Map<string, number>,
): void {
  const stack = [from];
  const entered = new Set<string>();
  for (let id = stack.at(-1); id !== undefined; id = stack.at(-1)) {
    const needs = (open.get(id)?.dependsOn ?? []).filter(need => open.has(need));
    const unmeasured = needs.filter(need => !lengths.has(need) && !entered.has(need));
    if (!entered.has(id) && unmeasured.length > 0) {
      entered.add(id);
      stack.push(...unmeasured);
      continue;
    }
    stack.pop();
    if (lengths.has(id)) continue;
    let longest: string | null = null;
    for (const need of needs)
      if ((lengths.get(need) ?? 0) > (longest === null ? 0 : (lengths.get(longest) ?? 0))) longest = need;
    before.set(id, longest);
    lengths.set(id, 1 + (longest === null ? 0 : (lengths.get(longest) ?? 0)));
  }
}
