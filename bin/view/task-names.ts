/** How people and agents name tasks: by their number in the project, and those of another project by their whole id. */

import type { TaskRow } from "../../protocol/schemas/task.ts";
import { clean } from "./text.ts";

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

/** Returns what names these tasks: their numbers if they are of one project, else whole ids. */
export function handles(tasks: readonly Numbered[]): (id: string) => string {
  const numbers = numbersOfOne(tasks);
  return id => numbers.get(id)?.toString() ?? clean(id);
}

/** Returns the numbers of tasks of one project; none if they are of several. */
export function numbersOfOne(tasks: readonly Numbered[]): Numbers {
  const [project = null, ...others] = new Set(tasks.map(task => task.project));
  return others.length > 0 ? new Map() : numbersOf(tasks, project);
}

/** A task's whole id, with the words before it that make a sentence's `task` needless. */
export const named = /((?:\bkite (?:[a-z-]+ ){1,3}|\btasks? )?)\b(t-[0-9a-z]{1,12}-[0-9a-z]{1,12})\b/g;

/**
 * Returns the text with `#3` for each id that has a number. It has `3` behind the word task, and in a command, where a
 * shell takes `#` for a comment.
 */
export function inNumbers(text: string, numbers: Numbers): string {
  return text.replace(named, (whole: string, before: string, id: string) => {
    const number = numbers.get(id);
    if (number === undefined) return whole;
    return before === "" ? `#${number}` : before + number;
  });
}

/** Returns why nobody can claim the task now, with the numbers of tasks; or null. */
export function heldIn({ held }: Pick<TaskRow, "held">, numbers: Numbers): string | null {
  return held === null ? null : inNumbers(held, numbers);
}

// What becomes of a task next, in the words of every screen.

/** A task's status as people see it: pending is shown as ready or blocked. */
export type Standing = "ready" | "blocked" | "active" | "done" | "failed";

export function standing(task: Pick<TaskRow, "status" | "blockedBy">): Standing {
  if (task.status !== "pending") return task.status;
  return task.blockedBy.length > 0 ? "blocked" : "ready";
}

export const standings: readonly Standing[] = ["active", "ready", "blocked", "failed", "done"];

/** What stands before a task in a drawing. */
export const marks: Readonly<Record<Standing, string>> = {
  active: "▶",
  ready: "○",
  blocked: "·",
  failed: "✗",
  done: "✓",
};

/** Counts tasks by status: `2 active, 3 ready`. */
export function summaryOf(tasks: readonly TaskRow[]): string {
  return standings
    .map(one => [one, tasks.filter(t => standing(t) === one).length] as const)
    .filter(([, count]) => count > 0)
    .map(([one, count]) => `${count} ${one}`)
    .join(", ");
}
