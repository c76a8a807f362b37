/** How people and agents name tasks: by their number in the project, and those of another project by their whole id. */
import { limits } from "../../protocol/limits.ts";
import type { TaskRow } from "../../protocol/task.ts";
import type { Client } from "../process-context.ts";

/** Returns a task's name as requests take it: digits alone, with or without `#`, are its number. */
export function taskNamed(name: string): string {
  const [, digits] = /^#?0*(\d+)$/.exec(name) ?? [];
  return digits === undefined ? name : `#${digits}`;
}

/** The numbers of tasks by their ids. */
export type Numbers = ReadonlyMap<string, number>;

type Numbered = Pick<TaskRow, "id" | "number" | "project" | "blockedBy">;

/**
 * Returns the numbers of tasks and of those that they wait for, by id: those of `project`, the reader's own. A number of two
 * tasks, which were imported before imports took numbers, names neither.
 */
export function numbersOf(tasks: readonly Numbered[], project: string | null): Numbers {
  const own = tasks.filter(task => task.project === project);
  const waited = own.flatMap(task => task.blockedBy.map(({ task: id, number }) => [id, number] as const));
  const all = [...own.map(({ id, number }) => [id, number] as const), ...waited];
  const ids = new Map<number, Set<string>>();
  for (const [id, number] of all)
    if (number !== null) ids.set(number, (ids.get(number) ?? new Set()).add(id));
  return new Map([...ids].flatMap(([number, [id = "", ...more]]) => (more.length > 0 ? [] : [[id, number]])));
}

/** A task's whole id, with the words before it that make a sentence's `task` needless. */
const named = /((?:\bkite (?:[a-z-]+ ){1,3}|\btasks? )?)\b(t-[0-9a-z]{1,12}-[0-9a-z]{1,12})\b/g;

/** Returns the text with `task 3`, or `3` in a command, for each id that has a number. */
export function inNumbers(text: string, numbers: Numbers): string {
  return text.replace(named, (whole: string, before: string, id: string) => {
    const number = numbers.get(id);
    if (number === undefined) return whole;
    return before === "" ? `task ${number}` : before + number;
  });
}

/** Returns the numbers of the first tasks that a text names, as far as they are of `project`; asks the daemon for each. */
export async function numbersIn(
  client: Pick<Client, "request">,
  project: string,
  text: string,
): Promise<Numbers> {
  const ids = [...new Set([...text.matchAll(named)].map(([, , id = ""]) => id))];
  const rows: TaskRow[] = [];
  for (const task of ids.slice(0, limits.idsNamedMax + 1)) {
    const answer = await client.request("task_get", { task });
    if (answer.ok) rows.push(answer.task);
  }
  return numbersOf(rows, project);
}
