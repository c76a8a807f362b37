/** Which tasks the drawing has, and what needs what among them. */

import { Graph as LaidOut, layout } from "@dagrejs/dagre";
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { type Standing, standing, standings } from "../../../view/task-names.ts";

/** Tasks in a drawing: a layout of so many takes a fraction of a second, and a person still finds their way. */
const drawnMax = 200;

/** Tasks that hang together. `needs` are pairs: the first task needs the second one. */
interface Part {
  readonly tasks: readonly TaskRow[];
  readonly needs: readonly (readonly [string, string])[];
}

export interface Graph {
  readonly parts: readonly Part[];
  /** Tasks that need no other one, and that none needs: they are in no part. */
  readonly alone: number;
  /** Tasks that are left out because the drawing is full. */
  readonly leftOut: number;
}

/**
 * Returns the graph of the tasks `wanted` and of all that they need in `known`. If that is more than `max`, it takes
 * those that hang together with the tasks of `first`, nearest first. Then it takes those that hang together with the
 * first ones of `wanted`.
 */
export function graphOf(
  wanted: readonly TaskRow[],
  known: readonly TaskRow[],
  first: readonly string[],
  max: number = drawnMax,
): Graph {
  const byId = new Map(known.map(task => [task.id, task]));
  const reached = new Map(wanted.map(task => [task.id, task]));
  const neighbours = new Map<string, string[]>();
  const join = (one: string, other: string) => {
    const found = neighbours.get(one);
    if (found === undefined) neighbours.set(one, [other]);
    else found.push(other);
  };
  // Tasks that are added here are visited, too.
  for (const { id, dependsOn } of reached.values()) {
    for (const need of dependsOn) {
      const task = byId.get(need);
      if (task === undefined) continue;
      reached.set(need, task);
      join(id, need);
      join(need, id);
    }
  }
  const parts: Part[] = [];
  const seen = new Set<string>();
  const grow = (seeds: readonly string[]) => {
    const from = seen.size;
    for (const id of seeds) if (seen.size < max) seen.add(id);
    if (seen.size === from) return;
    const part = [...seen].slice(from);
    for (const id of part) {
      for (const next of neighbours.get(id) ?? []) {
        if (seen.has(next) || seen.size >= max) continue;
        seen.add(next);
        part.push(next);
      }
    }
    parts.push(partOf(part, reached));
  };
  const joined = [...reached.keys()].filter(id => neighbours.has(id));
  grow(first.filter(id => neighbours.has(id)));
  for (const id of joined) if (!seen.has(id)) grow([id]);
  return { parts, alone: reached.size - joined.length, leftOut: joined.length - seen.size };
}

function partOf(ids: readonly string[], tasks: ReadonlyMap<string, TaskRow>): Part {
  // In the order of the ids, so that a part is the same from wherever it was reached.
  const sorted = [...ids].sort();
  const own = new Set(sorted);
  const found = sorted.flatMap(id => tasks.get(id) ?? []);
  const needs = found.flatMap(({ id, dependsOn }) =>
    dependsOn.filter(need => own.has(need)).map(need => [id, need] as const),
  );
  return { tasks: found, needs };
}

// Where each task of a drawing stands. Needs are to the left of what needs them.

/** A task's box, in units of the drawing: 16 are one rem. */
export const box = { width: 216, height: 46 } as const;
const gap = { rank: 44, node: 14, part: 28 } as const;
/** How wide a row of parts may be, if no part is wider. */
const rowWidth = 1_400;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Arrow {
  /** The needed task, and the one that needs it. */
  readonly from: string;
  readonly to: string;
  readonly points: readonly Point[];
}

/** Middles of boxes by the tasks' ids, and arrows between them. */
interface Layout {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, Point>;
  readonly arrows: readonly Arrow[];
}

/** What dagre says of a box and of an arrow: Node's way to find types does not find its own. */
interface Dagre {
  setGraph(options: Readonly<Record<string, string | number>>): void;
  graph(): { readonly width: number; readonly height: number };
  setNode(id: string, size: { readonly width: number; readonly height: number }): void;
  node(id: string): Point;
  setEdge(from: string, to: string, label: object): void;
  edge(from: string, to: string): { readonly points: readonly Point[] };
}

/** Layouts of parts by what they are made of. */
export type Layouts = ReadonlyMap<string, Layout>;

/** Returns the layouts of the parts; those of `before` stay if tasks and needs are the same, whatever state tasks have. */
export function layoutsOf(parts: readonly Part[], before: Layouts): Layouts {
  return new Map(
    parts.map(part => {
      const key = `${part.tasks.map(({ id }) => id).join()} ${part.needs.map(pair => pair.join(">")).join()}`;
      return [key, before.get(key) ?? layoutOf(part)];
    }),
  );
}

function layoutOf({ tasks, needs }: Part): Layout {
  const graph: Dagre = new LaidOut();
  graph.setGraph({ rankdir: "LR", ranksep: gap.rank, nodesep: gap.node, edgesep: gap.node / 2 });
  for (const { id } of tasks) graph.setNode(id, { ...box });
  for (const [task, need] of needs) graph.setEdge(need, task, {});
  layout(graph);
  const places = new Map(tasks.map(({ id }) => [id, pointOf(graph.node(id))]));
  const arrows = needs.map(([task, need]) => {
    // From side to side: dagre lets a steep arrow begin at the top of its box, where it crosses others.
    const inner = graph.edge(need, task).points.slice(1, -1);
    const points = [sideOf(graph.node(need), 1), ...inner, sideOf(graph.node(task), -1)].map(pointOf);
    return { from: need, to: task, points };
  });
  const { width, height } = graph.graph();
  return { width, height, places, arrows };
}

/** Returns the middle of a box's right (1) or left (-1) side. */
function sideOf({ x, y }: Point, side: 1 | -1): Point {
  return { x: x + (side * box.width) / 2, y };
}

function pointOf({ x, y }: Point): Point {
  return { x: Math.round(x), y: Math.round(y) };
}

/** Returns one layout of all parts: beside each other while there is room, else below. */
export function packed(layouts: Layouts): Layout {
  const places = new Map<string, Point>();
  const arrows: Arrow[] = [];
  const all = [...layouts.values()];
  const room = Math.max(rowWidth, ...all.map(({ width }) => width));
  let [x, y, rowHeight, width] = [0, 0, 0, 0];
  for (const part of all) {
    if (x > 0 && x + part.width > room) {
      y += rowHeight + gap.part;
      [x, rowHeight] = [0, 0];
    }
    const [left, top] = [x, y];
    const move = (point: Point) => ({ x: point.x + left, y: point.y + top });
    for (const [id, point] of part.places) places.set(id, move(point));
    for (const { from, to, points } of part.arrows) arrows.push({ from, to, points: points.map(move) });
    width = Math.max(width, x + part.width);
    rowHeight = Math.max(rowHeight, part.height);
    x += part.width + gap.part;
  }
  return { width, height: y + rowHeight, places, arrows };
}

/** Returns the nearest other box in a direction, along which `dx` or `dy` is 1 or -1; null: there is none. */
export function boxBeside(places: Layout["places"], from: string, dx: number, dy: number): string | null {
  const start = places.get(from);
  if (start === undefined) return null;
  let nearest: { readonly id: string; readonly distance: number } | null = null;
  for (const [id, { x, y }] of places) {
    const along = (x - start.x) * dx + (y - start.y) * dy;
    const aside = Math.abs((x - start.x) * dy) + Math.abs((y - start.y) * dx);
    if (along <= 0) continue;
    const distance = along + 2 * aside;
    if (nearest === null || distance < nearest.distance) nearest = { id, distance };
  }
  return nearest?.id ?? null;
}

// Which tasks a person wants to see, as the address says it.

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
