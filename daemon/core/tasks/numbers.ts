/**
 * The numbers of tasks: they count per project, so that people can say them. The last part of a new id is its number.
 *
 * Invariants: a project gives no number twice, also not that of a task that was removed; an id is unique among all
 * projects; at most `limits.numberedProjectsMax` projects without tasks keep their number.
 */
import { limits } from "../../../protocol/limits.ts";
import { matchesOf, scopeOf } from "../ids.ts";
import { listOf, numberIn, renumberedAt, type Tasks } from "./table.ts";

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

/**
 * Returns a number for each imported task, in their order: the next free one of its project. Undefined: the last part of
 * the task's id says it.
 */
export function importedNumbers(
  tasks: Tasks,
  imported: readonly { readonly id: string; readonly project: string }[],
): { readonly own: readonly (number | undefined)[]; readonly last: ReadonlyMap<string, number> } {
  const last = new Map<string, number>();
  const own = imported.map(({ id, project }) => {
    const number = freeNumber(tasks, project, last.get(project) ?? lastNumber(tasks, project));
    last.set(project, number);
    return number === numberIn(id) ? undefined : number;
  });
  return { own, last };
}

/** Records the id of the project's last task. */
export function countTo(tasks: Tasks, project: string, id: string): void {
  const [, ms = 0, number = 0] = id.split("-").map(part => Number.parseInt(part, 36));
  tasks.stamp = { ms, top: number };
  countNumber(tasks, project, number);
}

/** Records the number of the project's last task. */
export function countNumber(tasks: Tasks, project: string, number: number): void {
  const { numbers } = tasks;
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

/** Returns the next number after `n` that no imported task of the project has, and that the id of none ends with. */
function freeNumber(tasks: Tasks, project: string, n: number): number {
  for (let next = n + 1; ; next += 1) {
    const isEnd = matchesOf(tasks, next.toString(36), scopeOf(project)).length > 0;
    if (!isEnd && renumberedAt(tasks, project, next) === undefined) return next;
  }
}

/** Returns the id; an imported task of another project may have that of this time. */
function freeId({ all }: Tasks, n: number, fromMs: number): string {
  for (let ms = Math.max(0, fromMs); ; ms += 1) {
    const id = `t-${ms.toString(36)}-${n.toString(36)}`;
    if (!all.has(id)) return id;
  }
}
