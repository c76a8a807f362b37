/**
 * The numbers of tasks: the last part of an id counts per project, so that people can say it.
 *
 * Invariants: a project gives no number twice, also not that of a task that was removed; an id is unique among all
 * projects; at most `limits.numberedProjectsMax` projects without tasks keep their number.
 */
import { limits } from "../../../protocol/limits.ts";
import { matchesOf, scopeOf } from "../ids.ts";
import { listOf, type Tasks } from "./table.ts";

/** Returns an id for each of `count` new tasks of the project; `wallMs` is the time of the request. */
export function newIds(tasks: Tasks, project: string, count: number, wallMs: number): string[] {
  const first = freeNumber(tasks, project, lastNumber(tasks, project));
  const { ms, top } = tasks.stamp;
  // Two projects may give one number, so an id of a used time has a higher number than all others of that time.
  const at = wallMs > ms ? wallMs : first > top ? ms : ms + 1;
  let n = first - 1;
  return Array.from({ length: count }, () => {
    n = freeNumber(tasks, project, n);
    return freeId(tasks, n, at);
  });
}

/** Records the id of the project's last task. */
export function countTo(tasks: Tasks, project: string, id: string): void {
  const { numbers } = tasks;
  const [, ms = 0, number = 0] = id.split("-").map(part => Number.parseInt(part, 36));
  tasks.stamp = { ms, top: number };
  numbers.delete(project);
  numbers.set(project, number);
  if (numbers.size <= limits.numberedProjectsMax) return;
  for (const [other, n] of numbers) {
    if (listOf(tasks, "all", other).size > 0) continue;
    numbers.delete(other);
    tasks.numbersFrom = Math.max(tasks.numbersFrom, n);
    return;
  }
}

function lastNumber({ numbers, numbersFrom }: Tasks, project: string): number {
  return numbers.get(project) ?? numbersFrom;
}

/** Returns the next number after `n` that no imported task of the project has. */
function freeNumber(tasks: Tasks, project: string, n: number): number {
  for (let next = n + 1; ; next += 1)
    if (matchesOf(tasks, next.toString(36), scopeOf(project)).length === 0) return next;
}

/** Returns the id; an imported task of another project may have that of this time. */
function freeId({ all }: Tasks, n: number, fromMs: number): string {
  for (let ms = Math.max(0, fromMs); ; ms += 1) {
    const id = `t-${ms.toString(36)}-${n.toString(36)}`;
    if (!all.has(id)) return id;
  }
}
