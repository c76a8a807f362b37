/** Which tasks a person wants to see, as the address says it. */
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { type Standing, standing, standings } from "../../../tasks/standing.ts";

export interface Filter {
  /** A part of the description, of the id, or of the name of who works on it; a number with `#` or alone is that task. */
  readonly text: string;
  readonly label: string;
  readonly state: Standing | null;
  /** Whether done tasks are shown. */
  readonly hasDone: boolean;
}

/** Reads the view's part of the address; words that it does not know count as none. */
export function filterOf(query: Readonly<Record<string, string>>): Filter {
  const { text = "", label = "", state = "", done = "" } = query;
  const known = standings.find(one => one === state) ?? null;
  return { text, label, state: known, hasDone: done === "1" || known === "done" };
}

/** Returns the tasks that fit: those at work first, then ready, blocked, failed and done ones, each by urgency and age. */
export function filtered(tasks: readonly TaskRow[], filter: Filter): readonly TaskRow[] {
  const { label, state, hasDone } = filter;
  const hasText = textMatcher(filter.text);
  const found = tasks.filter(task => {
    const is = standing(task);
    if (state === null ? is === "done" && !hasDone : is !== state) return false;
    return (label === "" || task.labels.includes(label)) && hasText(task);
  });
  const places = new Map(found.map(task => [task, standings.indexOf(standing(task)) * 4 + rank(task)]));
  const placeOf = (task: TaskRow) => places.get(task) ?? 0;
  return found.sort((a, b) => placeOf(a) - placeOf(b) || a.createdAt - b.createdAt || a.number - b.number);
}

function rank({ priority }: TaskRow): number {
  return { high: 0, normal: 1, low: 2 }[priority];
}

function textMatcher(text: string): (task: TaskRow) => boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return () => true;
  const number = /^#?(\d+)$/.exec(wanted)?.[1];
  return task =>
    (number !== undefined && task.number === Number(number)) ||
    task.description.toLowerCase().includes(wanted) ||
    task.id.includes(wanted) ||
    (task.assigneeName ?? "").toLowerCase().includes(wanted);
}

/** Returns the labels of the tasks, each once, in their order. */
export function labelsOf(tasks: readonly TaskRow[]): readonly string[] {
  return [...new Set(tasks.flatMap(({ labels }) => labels))].sort();
}
