/** Where spans and marks of a lane are drawn. Pure. What is too near to tell apart becomes one figure, so their number is bounded. */
import { type Lane, type Mark, markKinds, type Span } from "../../timeline.ts";

/** The part of time that is shown, as wide as the drawing. */
export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** One span or several, in a row of its lane. `x` and `width` are shares of the drawing's width, 0 to 1. */
export interface Bar {
  readonly kind: Span["kind"];
  readonly row: number;
  readonly x: number;
  readonly width: number;
  readonly spans: readonly Span[];
  readonly isOpen: boolean;
}

/** One mark or several; `kind` is the weightiest. */
export interface Point {
  readonly kind: Mark["kind"];
  readonly x: number;
  readonly marks: readonly Mark[];
}

export interface Drawing {
  readonly rows: number;
  readonly bars: readonly Bar[];
  readonly points: readonly Point[];
}

/** Rows of a lane; further spans at one time share the last one. */
const rowsMax = 6;
/** Least width of a bar, below which bars that touch become one, and least distance of marks: pixels. */
const barPx = 3;
const joinPx = 8;
const markPx = 26;

/** Returns the row of each span of a lane by its number: a file keeps its row where it can. */
export function rowsOf({ spans }: Pick<Lane, "spans">): ReadonlyMap<number, number> {
  const ends: number[] = [];
  const rowOfFile = new Map<string | null, number>();
  const rows = new Map<number, number>();
  for (const { n, file, fromMs, untilMs } of spans) {
    const isFree = (row: number) => (ends[row] ?? Number.NEGATIVE_INFINITY) <= fromMs;
    const before = rowOfFile.get(file);
    const row = before !== undefined && isFree(before) ? before : freeRow(ends, isFree);
    ends[row] = Math.max(ends[row] ?? 0, untilMs ?? Number.POSITIVE_INFINITY);
    rowOfFile.set(file, row);
    rows.set(n, row);
  }
  return rows;
}

function freeRow(ends: readonly number[], isFree: (row: number) => boolean): number {
  const free = ends.findIndex((_end, row) => isFree(row));
  return free === -1 ? Math.min(ends.length, rowsMax - 1) : free;
}

/** Draws a lane: `rows` is what `rowsOf` says of it, `widthPx` the drawing's width. */
export function drawingOf(
  lane: Pick<Lane, "spans" | "marks">,
  rows: ReadonlyMap<number, number>,
  { fromMs, untilMs }: Stretch,
  { nowMs, widthPx }: { readonly nowMs: number; readonly widthPx: number },
): Drawing {
  const share = (ms: number) => (ms - fromMs) / (untilMs - fromMs);
  const bars: Grown[] = [];
  const latest = new Map<number, Grown>();
  for (const span of lane.spans) {
    const endMs = span.untilMs ?? Math.max(nowMs, span.fromMs);
    if (span.fromMs > untilMs || endMs < fromMs) continue;
    const x = Math.max(0, share(span.fromMs));
    const width = Math.max(Math.min(1, share(endMs)) - x, barPx / widthPx);
    const row = rows.get(span.n) ?? 0;
    const bar: Grown = { kind: span.kind, row, x, width, spans: [span], isOpen: span.untilMs === null };
    const before = latest.get(row);
    const isNear = before !== undefined && x * widthPx < (before.x + before.width) * widthPx + 1;
    const isSmall = (one: Bar) => one.width * widthPx < joinPx;
    if (before !== undefined && isNear && isSmall(bar) && (isSmall(before) || before.spans.length > 1)) {
      join(before, bar);
      continue;
    }
    bars.push(bar);
    latest.set(row, bar);
  }
  const used = [...rows.values()].reduce((most, row) => Math.max(most, row + 1), 1);
  return { rows: used, bars, points: pointsOf(lane.marks, { fromMs, untilMs }, widthPx) };
}

/** A bar that further spans may join. */
interface Grown extends Bar {
  kind: Span["kind"];
  width: number;
  isOpen: boolean;
  readonly spans: Span[];
}

function join(before: Grown, { kind, x, width, spans, isOpen }: Bar): void {
  // Waits are what a person looks for.
  if (kind === "wait") before.kind = kind;
  before.width = Math.max(before.x + before.width, x + width) - before.x;
  before.spans.push(...spans);
  before.isOpen ||= isOpen;
}

function pointsOf(marks: readonly Mark[], { fromMs, untilMs }: Stretch, widthPx: number): readonly Point[] {
  const points: { kind: Mark["kind"]; x: number; marks: Mark[] }[] = [];
  for (const mark of marks) {
    if (mark.atMs < fromMs || mark.atMs > untilMs) continue;
    const x = (mark.atMs - fromMs) / (untilMs - fromMs);
    const before = points.at(-1);
    if (before === undefined || (x - before.x) * widthPx >= markPx) {
      points.push({ kind: mark.kind, x, marks: [mark] });
      continue;
    }
    before.marks.push(mark);
    if (markKinds.indexOf(mark.kind) < markKinds.indexOf(before.kind)) before.kind = mark.kind;
  }
  return points;
}
