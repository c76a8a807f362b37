/** Tasks as text. */
import { isGrave, riskReasons } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { handles, heldIn, type Numbers, numbersOfOne } from "../tasks/numbers.ts";
import { type Standing, standing, standings, summaryOf } from "../tasks/standing.ts";
import { paint, type Style } from "./color.ts";
import { projectName } from "./places.ts";
import { type Cell, table } from "./table.ts";
import { clean, clock, counted, duration, foreign, listed, type Screen, wrap } from "./text.ts";

export interface TasksData {
  readonly tasks: readonly TaskRow[];
  /** The text shown if there are no tasks. */
  readonly none: string;
}

export const styles: Readonly<Record<Standing, Style>> = {
  active: "green",
  ready: "bold",
  blocked: "dim",
  failed: "red",
  done: "dim",
};

/** `kite task list`: tasks by project; active ones first, then ready, blocked, failed and done ones. */
export function tasksView({ tasks, none }: TasksData, screen: Screen): string[] {
  if (tasks.length === 0) return wrap(none, screen.width);
  return taskGroups(tasks, screen).flatMap(({ title, lines }) => [title, ...lines]);
}

/** Returns the tasks of each project as a title and a line for each, in the order of `kite task list`. */
export function taskGroups(
  tasks: readonly TaskRow[],
  screen: Screen,
): readonly { readonly title: string; readonly lines: readonly string[] }[] {
  const handle = handles(tasks);
  const numbers = numbersOfOne(tasks);
  const projects = [...new Set(tasks.map(t => t.project))].sort();
  const rank = (task: TaskRow) => standings.indexOf(standing(task));
  const sorted = projects.map(project =>
    tasks.filter(t => t.project === project).sort((a, b) => rank(a) - rank(b)),
  );
  const drawn = table(
    sorted.flat().map(task => cellsOf({ ...task, held: heldIn(task, numbers) }, handle, screen)),
    [{}, {}, {}, { min: 16 }, { min: 8 }],
    screen,
    2,
  );
  return projects.map((project, i) => {
    const own = sorted[i] ?? [];
    const name = paint(screen, "bold", clean(projectName(project)));
    const title = `${name}${paint(screen, "dim", `: ${summaryOf(own)}`)}`;
    return { title, lines: drawn.splice(0, own.length) };
  });
}

function cellsOf(task: TaskRow, handle: (id: string) => string, screen: Screen): Cell[] {
  const is = standing(task);
  const rank = task.priority === "normal" ? "" : task.priority;
  const care = task.risk === "green" ? "" : task.risk;
  const marks = [rank, care].filter(word => word !== "").join(" ");
  const style = isGrave(task.risk) ? "red" : task.priority === "high" || care !== "" ? "yellow" : "dim";
  return [
    handle(task.id),
    { text: is, style: styles[is] },
    { text: marks, style },
    clean(task.description),
    { text: noteOf(task, handle, screen), style: "dim" },
  ];
}

/** The agent that works on the task, the tasks that it waits for, or why it failed. */
function noteOf(task: TaskRow, handle: (id: string) => string, screen: Screen): string {
  const who = task.assigneeName === null ? "" : clean(task.assigneeName);
  const parts: string[] = [];
  if (task.status === "active" && who !== "") {
    parts.push(`${who} ${duration(screen.now - task.updatedAt)}`);
    if (task.assigneeLost) parts.push(`lost, to free it: kite task release ${handle(task.id)}`);
  }
  if (task.status === "pending") parts.push(...blockers(task, handle));
  if (task.held !== null) parts.push(clean(task.held));
  if (task.status === "failed") parts.push(clean(task.result ?? "no reason given"));
  if (task.status === "done" && who !== "") parts.push(`by ${who}`);
  if (task.status === "pending" && task.attempts > 0)
    parts.push(`${counted(task.attempts, "attempt")} failed`);
  return parts.join(", ");
}

const blockersShownMax = 4;

function blockers({ blockedBy }: TaskRow, handle: (id: string) => string): string[] {
  if (blockedBy.length === 0) return [];
  const shown = blockedBy.slice(0, blockersShownMax).map(({ task, status }) => {
    return status === "failed" ? `${handle(task)} (failed)` : handle(task);
  });
  return [`after ${listed(shown, blockedBy.length - shown.length)}`];
}

/** `kite task show`: everything about one task; `numbers`: of the tasks of the reader's project that it names. */
export function taskView(task: TaskRow, numbers: Numbers, screen: Screen): string[] {
  const own = numbers.get(task.id);
  const is = standing(task);
  const time = (at: number) => `${clock(at, screen.now)}, ${duration(screen.now - at)} ago`;
  const fields: readonly (readonly [string, string | null])[] = [
    ["id", own === undefined ? null : task.id],
    ["project", task.project],
    ["priority", task.priority === "normal" ? null : task.priority],
    [
      "risk",
      task.risk === "green"
        ? null
        : `${task.risk}${task.approved ? ", approved" : ""}: ${riskReasons[task.risk]}`,
    ],
    ["not now", heldIn(task, numbers)],
    ["labels", task.labels.length === 0 ? null : task.labels.join(", ")],
    ["needs", task.dependsOn.length === 0 ? null : needs(task, numbers)],
    ["debate", task.debate],
    [task.status === "active" ? "worked on by" : "by", task.assigneeName],
    [
      "to free it",
      task.assigneeLost === undefined
        ? null
        : `nothing is heard of that agent: kite task release ${own ?? task.id}`,
    ],
    ["attempts", task.attempts === 0 ? null : `${task.attempts}`],
    ["created", `${time(task.createdAt)}${task.createdBy === null ? "" : `, by ${task.createdBy}`}`],
    ["changed", task.updatedAt === task.createdAt ? null : time(task.updatedAt)],
    [task.status === "failed" ? "reason" : "result", task.result],
  ];
  const shown = fields.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const width = Math.max(...shown.map(([name]) => name.length));
  return [
    `${paint(screen, "bold", own === undefined ? clean(task.id) : `task ${own}`)}  ${paint(screen, styles[is], is)}`,
    ...foreign(task.description, screen.width - 2).map(line => `  ${line}`),
    "",
    ...shown.flatMap(([name, value]) => {
      const [first = "", ...rest] = foreign(value, Math.max(20, screen.width - width - 4));
      const label = paint(screen, "dim", name.padEnd(width));
      return [`  ${label}  ${first}`, ...rest.map(line => `${" ".repeat(width + 4)}${line}`)];
    }),
  ];
}

function needs(task: TaskRow, numbers: Numbers): string {
  const open = new Map(task.blockedBy.map(({ task: id, status }) => [id, status]));
  return task.dependsOn.map(id => `${numbers.get(id) ?? id} (${open.get(id) ?? "done"})`).join(", ");
}
