/** How people and agents name tasks: by their number in the project, and those of another project by their whole id. */

import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { TaskRow } from "../../protocol/task.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { ownProject } from "../project.ts";

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

/**
 * Returns the text with `#3` for each id that has a number; with `3` behind the word task, and in a command, where a shell
 * takes `#` for a comment.
 */
export function inNumbers(text: string, numbers: Numbers): string {
  return text.replace(named, (whole: string, before: string, id: string) => {
    const number = numbers.get(id);
    if (number === undefined) return whole;
    return before === "" ? `#${number}` : before + number;
  });
}

/** Returns the numbers of the first tasks that a text names, as far as they are of `project`; asks the daemon for each. */
export async function numbersIn(
  client: Pick<Client, "request">,
  project: string,
  text: string,
  max: number = limits.idsNamedMax + 1,
): Promise<Numbers> {
  const ids = [...new Set([...text.matchAll(named)].map(([, , id = ""]) => id))];
  const asked = ids.slice(0, max).map(task => client.request("task_get", { task }));
  const rows = (await Promise.all(asked)).flatMap(answer => (answer.ok ? [answer.task] : []));
  return numbersOf(rows, project);
}

/** Ids of a screen for which the daemon is asked. */
const screenIdsMax = 100;

/**
 * Returns what puts the numbers of tasks into texts of a screen, of which `all` has the words; the ids stay if no daemon
 * runs, and for tasks of another project than the working directory's.
 */
export async function numbering(world: ProcessContext, client: Client | null, all: string): Promise<Worded> {
  if (all.match(named) === null) return asIs;
  const project = await ownProject(world);
  if (project === null) return asIs;
  const found = client ?? (await connectedTo(world));
  if (found === null) return asIs;
  try {
    const numbers = await numbersIn(found, project, all, screenIdsMax);
    return text => inNumbers(text, numbers);
  } catch (error) {
    // The screen is what the person needs to read, also if the connection is lost meanwhile.
    if (!(error instanceof LocalError)) throw error;
    return asIs;
  } finally {
    if (found !== client) found.close();
  }
}

export type Worded = (text: string) => string;

const asIs: Worded = text => text;

async function connectedTo(world: ProcessContext): Promise<Client | null> {
  try {
    return await world.connect({ name: "kite", reconnect: false });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return null;
  }
}
