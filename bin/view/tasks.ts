/** Tasks as text. */

import { isGrave, riskReasons } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { projectName } from "./places.ts";
import {
  handles,
  heldIn,
  marks,
  type Numbers,
  numbersOfOne,
  type Standing,
  standing,
  standings,
  summaryOf,
} from "./task-names.ts";
import {
  type Cell,
  clean,
  clock,
  counted,
  cut,
  duration,
  foreign,
  listed,
  paint,
  type Screen,
  type Style,
  table,
  wrap,
} from "./text.ts";

interface TasksData {
  readonly tasks: readonly TaskRow[];
  /** The text shown if there are no tasks. */
  readonly none: string;
}

const styles: Readonly<Record<Standing, Style>> = {
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

// The graph of tasks as text.

/** A task and its position in the drawing. */
interface Node {
  readonly task: TaskRow;
  /** Number of tasks on the longest path to this one from a task that needs none. */
  depth: number;
  /** The task under which this one is drawn; a note beside it lists its other needs. */
  parent: Node | null;
  readonly children: Node[];
}

/**
 * `kite task graph`: every task once, below the last task that it needs; a note beside it lists its other needs.
 * A chain goes straight down; several tasks that need the same one are its branches.
 */
export function graphView(tasks: readonly TaskRow[], screen: Screen): string[] {
  if (tasks.length === 0) return ["No tasks."];
  const handle = handles(tasks);
  const shown = new Map(drawn(tasks).map(line => [line.node.task.id, line]));
  const rows = [...shown.values()].map(({ node, lead }): Cell[] => {
    const is = standing(node.task);
    const text = `${lead}${marks[is]} ${clean(node.task.description)}`;
    return [
      { text: handle(node.task.id), style: "dim" },
      { text, style: is === "blocked" || is === "done" ? "plain" : styles[is] },
      { text: besideOf(node, handle, shown), style: "dim" },
    ];
  });
  const used = standings.filter(one => tasks.some(task => standing(task) === one));
  const isAnyBelow = [...shown.values()].some(({ lead }) => lead !== "");
  const legend = [
    ...used.map(one => `${marks[one]} ${one}`),
    ...(isAnyBelow ? ["↓├└ needs the task above"] : []),
  ].join("  ");
  return [
    paint(screen, "dim", `${summaryOf(tasks)}`),
    ...table(rows, [{}, { min: 24 }, { min: 10 }], screen),
    ...wrap(legend, screen.width).map(line => paint(screen, "dim", line)),
  ];
}

function besideOf(node: Node, handle: (id: string) => string, shown: ReadonlyMap<string, unknown>): string {
  const { task, parent } = node;
  const others = task.dependsOn.filter(id => id !== parent?.task.id);
  const here = others.filter(id => shown.has(id)).map(handle);
  // A need outside the drawing is listed only if it blocks the task.
  const away = task.blockedBy.filter(({ task: id }) => !shown.has(id)).map(({ task: id }) => handle(id));
  const needed = [...here, ...away].join(", ");
  const also = parent === null ? "after" : "also after";
  const who = task.status === "active" && task.assigneeName !== null ? clean(task.assigneeName) : "";
  return [who, needed === "" ? "" : `${also} ${needed}`].filter(part => part !== "").join(", ");
}

interface Line {
  readonly node: Node;
  /** The branches drawn in front of the node. */
  readonly lead: string;
}

/** Branches deeper than this get no more indentation. */
const indentMax = 24;

/** Returns every task with the branches in front of it, from top to bottom. */
function drawn(tasks: readonly TaskRow[]): Line[] {
  const lines: Line[] = [];
  // The next node is at the stack's end. `below` holds the branches in front of a node's children.
  const stack: (Line & { readonly below: string })[] = [];
  for (const node of nodesOf(tasks).reverse()) {
    if (node.parent === null) stack.push({ node, lead: "", below: "" });
  }
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, lead, below } = next;
    lines.push({ node, lead });
    const [only] = node.children;
    if (only !== undefined && node.children.length === 1) {
      stack.push({ node: only, lead: `${below}↓ `, below });
      continue;
    }
    for (const child of node.children.reverse()) {
      const isLast = child === node.children[0];
      const deeper = `${below}${isLast ? "  " : "│ "}`;
      const isTooDeep = deeper.length > indentMax;
      stack.push({ node: child, lead: `${below}${isLast ? "└─" : "├─"}`, below: isTooDeep ? below : deeper });
    }
  }
  return lines;
}

/** Returns all tasks as nodes; each comes after the tasks that it needs. */
function nodesOf(tasks: readonly TaskRow[]): Node[] {
  const nodes = new Map(tasks.map(task => [task.id, { task, depth: 0, parent: null, children: [] } as Node]));
  const waiting = new Map<string, number>();
  const dependents = new Map<string, Node[]>();
  for (const node of nodes.values()) {
    const needed = node.task.dependsOn.filter(id => nodes.has(id));
    waiting.set(node.task.id, needed.length);
    for (const id of needed) {
      const known = dependents.get(id);
      if (known === undefined) dependents.set(id, [node]);
      else known.push(node);
    }
  }
  const order = [...nodes.values()].filter(({ task }) => waiting.get(task.id) === 0);
  for (const node of order) {
    for (const dependent of dependents.get(node.task.id) ?? []) {
      const left = (waiting.get(dependent.task.id) ?? 0) - 1;
      waiting.set(dependent.task.id, left);
      if (dependent.parent === null || node.depth >= dependent.parent.depth) {
        dependent.parent = node;
        dependent.depth = node.depth + 1;
      }
      if (left > 0) continue;
      dependent.parent.children.push(dependent);
      order.push(dependent);
    }
  }
  return order;
}

// The graph of tasks in Mermaid's language.

const titleColumns = 60;

const fills: Readonly<Record<string, string>> = {
  active: "fill:#fff3bf,stroke:#e67700",
  ready: "fill:#d3f9d8,stroke:#2b8a3e",
  blocked: "fill:#f1f3f5,stroke:#868e96",
  failed: "fill:#ffe3e3,stroke:#c92a2a",
  done: "fill:#dbe4ff,stroke:#364fc7",
};

/** The graph in Mermaid's language: an arrow leads from a task to those that need it. */
export function mermaidView(tasks: readonly TaskRow[]): string[] {
  const handle = handles(tasks);
  const known = new Set(tasks.map(({ id }) => id));
  const used = standings.filter(one => tasks.some(task => standing(task) === one));
  return [
    "graph TD",
    ...tasks.map(task => `  ${nodeOf(task.id)}["${textOf(task, handle)}"]:::${standing(task)}`),
    ...tasks.flatMap(task => {
      const needed = task.dependsOn.filter(id => known.has(id));
      return needed.map(id => `  ${nodeOf(id)} --> ${nodeOf(task.id)}`);
    }),
    ...used.map(one => `  classDef ${one} ${fills[one]}`),
  ];
}

function nodeOf(id: string): string {
  return id.replace(/\W/g, "_");
}

/** Returns a node's text, with Mermaid's special characters as numeric entities. */
function textOf(task: TaskRow, handle: (id: string) => string): string {
  const who = task.status === "active" && task.assigneeName !== null ? ` (${clean(task.assigneeName)})` : "";
  const text = `${handle(task.id)}: ${cut(clean(task.description), titleColumns)}${who}`;
  return text.replace(/[^\p{L}\p{N} .,:!?'()/_…-]/gu, character => `#${character.codePointAt(0)};`);
}
