/** The graph of tasks as text. */
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { handles } from "../tasks/numbers.ts";
import { marks, standing, standings, summaryOf } from "../tasks/standing.ts";
import { paint } from "./color.ts";
import { type Cell, table } from "./table.ts";
import { styles } from "./tasks.ts";
import { clean, type Screen, wrap } from "./text.ts";

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
