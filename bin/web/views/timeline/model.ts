/** Where spans and marks of a lane are drawn. Pure. What is too near to tell apart becomes one figure, so their number is bounded. */

import { useEffect, useRef, useState } from "preact/hooks";
import { inNumbers, numbersOf } from "../../../view/task-names.ts";
import { clock, counted, precise } from "../../../view/text.ts";
import {
  type ItemKind,
  type Lane,
  type Mark,
  markKinds,
  type Span,
  type Timeline,
  type TimelineReply,
  withReply,
} from "../../timeline.ts";
import { bounds, type Rows } from "../../wire.ts";
import { type About, clean, type Page, pathText, type ViewState } from "../state.ts";

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

// Which part of time is shown: what the address says, and what a person's keys make of it. Pure.

const minute = 60_000;
const hour = 60 * minute;

/** Ranges that have a button; each reaches now. */
export const lasts = [
  ["15m", "15 min", 15 * minute],
  ["1h", "1 h", hour],
  ["6h", "6 h", 6 * hour],
  ["24h", "24 h", 24 * hour],
  ["7d", "7 days", bounds.rangeMs],
] as const;

export interface Range extends Stretch {
  /** The button of a range that reaches now and goes along with it; null: a chosen part of time. */
  readonly last: (typeof lasts)[number][0] | null;
}

/** Columns of a wide screen: a range that reaches now goes along in steps of this share. */
const steps = 1_000;

/** Room behind now, as a share of a range: what happens now is not cut off at the edge. */
export const edgeShare = 0.015;

/** Returns the range that the address asks for, by `last`, or by `from` and `until`. Without a sensible one: the last hour. */
export function rangeIn(query: Readonly<Record<string, string>>, nowMs: number): Range {
  const [fromMs, untilMs] = [timeIn(query["from"]), timeIn(query["until"])];
  if (fromMs !== null) {
    const end = Math.min(untilMs ?? nowMs, nowMs);
    if (end > fromMs) return { ...within({ fromMs, untilMs: end }, nowMs), last: null };
  }
  const [last, , lengthMs] = lasts.find(([name]) => name === query["last"]) ?? lasts[1];
  const stepMs = Math.max(1_000, Math.ceil(lengthMs / steps));
  const end = (Math.ceil(nowMs / stepMs) + Math.ceil(steps * edgeShare)) * stepMs;
  return { fromMs: end - lengthMs, untilMs: end, last };
}

/** What the address says of a chosen part of time. */
export function queryOf({ fromMs, untilMs }: Stretch): Readonly<Record<string, string | null>> {
  return { from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString(), last: null };
}

/** A time as people write it, or in milliseconds. */
function timeIn(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Keeps a stretch within the bounds of its length, and before now. */
function within({ fromMs, untilMs }: Stretch, nowMs: number): Stretch {
  const lengthMs = Math.round(Math.min(bounds.rangeMs, Math.max(bounds.rangeMsMin, untilMs - fromMs)));
  const end = Math.round(Math.min(nowMs, Math.max(untilMs, lengthMs)));
  return { fromMs: end - lengthMs, untilMs: end };
}

/** Makes the stretch `factor` times as long; what is at `share` of it stays where it is. */
export function zoomed({ fromMs, untilMs }: Stretch, factor: number, share: number, nowMs: number): Stretch {
  const wished = (untilMs - fromMs) * factor;
  const lengthMs = Math.min(bounds.rangeMs, Math.max(bounds.rangeMsMin, wished));
  const at = fromMs + (untilMs - fromMs) * share;
  return within({ fromMs: at - lengthMs * share, untilMs: at + lengthMs * (1 - share) }, nowMs);
}

/** Moves the stretch by a share of its length. */
export function moved({ fromMs, untilMs }: Stretch, share: number, nowMs: number): Stretch {
  const byMs = (untilMs - fromMs) * share;
  return within({ fromMs: fromMs + byMs, untilMs: untilMs + byMs }, nowMs);
}

/** Returns the stretch around both times with some room. */
export function around(fromMs: number, untilMs: number, nowMs: number): Stretch {
  const roomMs = Math.max(bounds.rangeMsMin / 2, (untilMs - fromMs) * 0.2);
  return within({ fromMs: fromMs - roomMs, untilMs: untilMs + roomMs }, nowMs);
}

interface Tick {
  readonly ms: number;
  readonly label: string;
  /** The label names a day. */
  readonly isDay: boolean;
}

const second = 1_000;
const tickSteps = [
  ...[1, 2, 5, 10, 15, 30].map(n => n * second),
  ...[1, 2, 5, 10, 15, 30].map(n => n * minute),
  ...[1, 2, 3, 6, 12, 24, 48].map(n => n * hour),
];

/** Returns ticks at round local times, at most `max`. */
export function ticksOf({ fromMs, untilMs }: Stretch, max: number): readonly Tick[] {
  const stepMs = tickSteps.find(step => (untilMs - fromMs) / step <= max) ?? tickSteps.at(-1) ?? hour;
  const ticks: Tick[] = [];
  for (let n = 0; ; n += 1) {
    const ms = roundTime(fromMs, stepMs, n);
    if (ms > untilMs) return ticks;
    if (ms >= fromMs) ticks.push({ ms, ...tickLabel(ms, stepMs) });
  }
}

/** The nth round time, counted in local time from the hour or the day in which the stretch begins. */
function roundTime(fromMs: number, stepMs: number, n: number): number {
  const from = new Date(fromMs);
  const [year, month, day] = [from.getFullYear(), from.getMonth(), from.getDate()];
  // By fields: a day with a change of the clock is not 24 hours long.
  if (stepMs >= hour) return new Date(year, month, day, (n * stepMs) / hour).getTime();
  return new Date(year, month, day, from.getHours()).getTime() + n * stepMs;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function tickLabel(ms: number, stepMs: number): Omit<Tick, "ms"> {
  const date = new Date(ms);
  const two = (n: number) => n.toString().padStart(2, "0");
  const [h, m, s] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  if (h === 0 && m === 0 && s === 0)
    return { label: `${months[date.getMonth()]} ${date.getDate()}`, isDay: true };
  const time = `${two(h)}:${two(m)}`;
  return { label: stepMs < minute ? `${time}:${two(s)}` : time, isDay: false };
}

// Keeps the timeline of a page up to date: asks the server for what is not there yet, and for what is new.

/** A range that reaches now is asked for again so often, as most things have no event. */
const everyMs = 4_000;
/** Least time between two questions. */
const leastMs = 1_000;

interface Known {
  readonly project: string | null;
  readonly timeline: Timeline;
  readonly version: string;
  /** Whether it reaches now, and is to be kept up to date. */
  readonly isLive: boolean;
}

interface Loaded {
  /** Null: nothing came yet. */
  readonly timeline: Timeline | null;
  /** Why the latest question failed. */
  readonly trouble: string | null;
}

/** Follows the stretch; `isLive`: it reaches now. */
export function useTimeline(page: Page, state: ViewState, stretch: Stretch, isLive: boolean): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({ timeline: null, trouble: null });
  const known = useRef<Known | null>(null);
  const lastRequest = useRef({ atMs: 0, events: 0, stretch: "", isRunning: false });
  const { project, nowMs } = state;
  const events = state.lookedAt("sessions") + state.lookedAt("locks") + state.lookedAt("refusals");
  const { fromMs, untilMs } = stretch;

  useEffect(() => {
    const last = lastRequest.current;
    // A tab that nobody sees is brought up to date when it is seen.
    if (last.isRunning || (document.hidden && known.current !== null)) return;
    const now = Date.now();
    const name = `${project} ${fromMs} ${untilMs} ${isLive}`;
    const isThere = covers(known.current, project, stretch, isLive);
    const isDue = isLive && (events !== last.events || now - last.atMs >= everyMs);
    // A range that the server cannot give whole is asked for once.
    if (isThere ? !isDue : name === last.stretch && !isDue) return;
    if (name === last.stretch && now - last.atMs < leastMs) return;
    lastRequest.current = { atMs: now, events, stretch: name, isRunning: true };
    const question = questionOf(known.current, { project, stretch, isLive, isThere });
    page
      .fetch<TimelineReply>("timeline", question)
      .then(reply => {
        const before = question["version"] === undefined ? null : (known.current?.timeline ?? null);
        const timeline = withReply(before, reply);
        known.current = { project, timeline, version: reply.version, isLive };
        setLoaded({ timeline, trouble: null });
      })
      .catch((error: Error) => setLoaded(before => ({ ...before, trouble: error.message })))
      .finally(() => {
        lastRequest.current = { ...lastRequest.current, isRunning: false };
      });
    // The clock of the page ticks: what was too soon is looked at again.
  }, [page, project, fromMs, untilMs, isLive, events, nowMs, stretch, loaded]);
  return known.current?.project === project || loaded.timeline === null
    ? loaded
    : { ...loaded, timeline: null };
}

function covers(known: Known | null, project: string | null, stretch: Stretch, isLive: boolean): boolean {
  if (known === null || known.project !== project) return false;
  const { fromMs, untilMs } = known.timeline;
  return fromMs <= stretch.fromMs && (isLive ? known.isLive : untilMs >= stretch.untilMs);
}

interface Wish {
  readonly project: string | null;
  readonly stretch: Stretch;
  readonly isLive: boolean;
  readonly isThere: boolean;
}

function questionOf(
  known: Known | null,
  { project, stretch, isLive, isThere }: Wish,
): Record<string, string> {
  const { fromMs, untilMs } = stretch;
  const within = project === null ? {} : { project };
  if (isLive) {
    const version = isThere && known !== null ? { version: known.version } : {};
    return { ...within, ...version, from: String(fromMs) };
  }
  // Some room at both sides, into which a person moves next.
  const roomMs = Math.min(untilMs - fromMs, (bounds.rangeMs - (untilMs - fromMs)) / 2);
  const [from, until] = [Math.max(0, Math.floor(fromMs - roomMs)), Math.floor(untilMs + roomMs)];
  return { ...within, from: String(from), until: String(until) };
}

// What spans and marks are called, and what a person is told of one. Pure.

export type Item = Span | Mark;

/** Of one kind and of several. */
export const kindWords: { readonly [K in ItemKind]: readonly [one: string, several: string] } = {
  hold: ["hold", "holds"],
  wait: ["wait", "waits"],
  denial: ["denial", "denials"],
  prompt: ["prompt", "prompts"],
  task: ["task", "tasks"],
  turn: ["idle", "idle"],
  begin: ["begin", "begins"],
  end: ["end", "ends"],
  note: ["note", "notes"],
};

/** Times in words, as of now. */
function timesOf(item: Item, nowMs: number): string {
  if ("atMs" in item) return clock(item.atMs, nowMs);
  const { fromMs, untilMs } = item;
  const lasted = precise((untilMs ?? nowMs) - fromMs);
  return untilMs === null
    ? `since ${clock(fromMs, nowMs)}, for ${lasted}`
    : `${clock(fromMs, nowMs)} to ${clock(untilMs, nowMs)}, ${lasted}`;
}

/** Returns what happened in a sentence; a hook's event has none of its own. */
export function sayingOf(item: Item, lane: Pick<Lane, "name">): string {
  if (item.says !== "") return clean(item.says);
  const name = clean(lane.name);
  if (item.kind === "prompt") return `${name} was given a prompt.`;
  if (item.kind === "turn") return `${name} went idle.`;
  return `${name}'s work ended.`;
}

/** Returns the name by which a figure is known to those who do not see it. */
export function labelOf(items: readonly Item[], lane: Lane, state: ViewState): string {
  const [first] = items;
  if (first === undefined) return "";
  if (items.length > 1) return `${items.length} together: ${counts(items)}, ${spanText(items, state.nowMs)}`;
  const when = timesOf(first, state.nowMs);
  const file = first.file === null ? "" : pathText(first.file, state);
  if (first.kind === "hold") return `${clean(lane.name)} held ${file}: ${when}`;
  if (first.kind !== "wait") return `${kindWords[first.kind][0]}: ${sayingOf(first, lane)} ${when}`;
  const behind = first.who === null ? "" : `, which ${clean(first.who)} had`;
  return `${clean(lane.name)} waited for ${file}${behind}: ${when}`;
}

/** `2 waits, 1 hold`. */
export function counts(items: readonly Item[]): string {
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  return kinds
    .map(kind => counted(items.filter(item => item.kind === kind).length, kindWords[kind][0]))
    .map(text => text.replace(/idles$/, "idle"))
    .join(", ");
}

function spanText(items: readonly Item[], nowMs: number): string {
  const { fromMs, untilMs } = extentOf(items, nowMs);
  return `${clock(fromMs, nowMs)} to ${clock(untilMs, nowMs)}`;
}

/** The time from the first of them to the end of the last. */
export function extentOf(items: readonly Item[], nowMs: number) {
  let [fromMs, untilMs] = [Number.POSITIVE_INFINITY, 0];
  for (const item of items) {
    const [begin, end] = "atMs" in item ? [item.atMs, item.atMs] : [item.fromMs, item.untilMs ?? nowMs];
    fromMs = Math.min(fromMs, begin);
    untilMs = Math.max(untilMs, end);
  }
  return { fromMs, untilMs };
}

/** What `kite explain` is asked about it; null: it is about no file, task or agent. */
export function aboutOf(item: Item, lane: Lane): About | null {
  const within = lane.project === null ? {} : { project: lane.project };
  if (item.file !== null) return { kind: "file", name: item.file, ...within };
  if ("task" in item && item.task !== null) return { kind: "task", name: item.task, ...within };
  return lane.session === null ? null : { kind: "agent", name: lane.name, ...within };
}

// Names tasks in a timeline by their numbers, as all of Kite's texts for people do. The trail has their ids.

/** Returns the timeline with the number of each task that `tasks` know. */
export function numbered(timeline: Timeline, tasks: readonly Rows["tasks"][]): Timeline {
  if (tasks.length === 0) return timeline;
  const projects = [...new Set(tasks.map(({ project }) => project))];
  const numbers = new Map(projects.flatMap(project => [...numbersOf(tasks, project)]));
  const inWords = <I extends { readonly says: string; readonly why: string | null }>(item: I): I => {
    const { says, why } = item;
    return { ...item, says: inNumbers(says, numbers), why: why === null ? null : inNumbers(why, numbers) };
  };
  const lanes = timeline.lanes.map(lane => ({
    ...lane,
    spans: lane.spans.map(inWords),
    marks: lane.marks.map(inWords),
  }));
  return { ...timeline, lanes };
}
