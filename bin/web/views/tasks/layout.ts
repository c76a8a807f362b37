/** Where each task of a drawing stands. Needs are to the left of what needs them. */
import { Graph as LaidOut, layout } from "@dagrejs/dagre";
import type { Part } from "./graph.ts";

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
export interface Layout {
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
