/** Which part of time is shown: what the address says, and what a person's keys make of it. Pure. */
import { bounds } from "../../bounds.ts";
import type { Stretch } from "./layout.ts";

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

export interface Tick {
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
    if (ms >= fromMs) ticks.push({ ms, ...labelOf(ms, stepMs) });
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

function labelOf(ms: number, stepMs: number): Omit<Tick, "ms"> {
  const date = new Date(ms);
  const two = (n: number) => n.toString().padStart(2, "0");
  const [h, m, s] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  if (h === 0 && m === 0 && s === 0)
    return { label: `${months[date.getMonth()]} ${date.getDate()}`, isDay: true };
  const time = `${two(h)}:${two(m)}`;
  return { label: stepMs < minute ? `${time}:${two(s)}` : time, isDay: false };
}
