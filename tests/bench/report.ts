/** What measurements return, and the one page that shows it. */
import { median } from "./measure.ts";

export type Goal = { readonly atMost: number } | { readonly atLeast: number };

/** A row: what was measured, its figure, how far the samples lie apart, and what it should be. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly spread?: readonly [least: number, most: number];
  readonly goal?: Goal;
  readonly met?: boolean;
  /** What to compare it with, in the same unit: what one could use in place of Kite, say. */
  readonly beside?: { readonly what: string; readonly value: number };
}

export interface Table {
  readonly title: string;
  readonly figures: readonly Figure[];
}

/** The tables of one measurement, each as soon as it is there. */
export type Tables = AsyncGenerator<Table, void>;

/** A figure, or several samples of it, of which the median counts. */
type Measured = number | readonly number[];

/** A figure with its goal. */
export function figure(what: string, measured: Measured, goal: Goal, unit = ""): Figure {
  const row = plain(what, measured, unit);
  const met = "atMost" in goal ? row.value <= goal.atMost : row.value >= goal.atLeast;
  return { ...row, goal, met };
}

/** A figure without a goal. */
export function plain(what: string, measured: Measured, unit = ""): Figure {
  if (typeof measured === "number") return { what, value: measured, unit };
  const spread = [Math.min(...measured), Math.max(...measured)] as const;
  return { what, value: median(measured), unit, ...(measured.length > 1 ? { spread } : {}) };
}

/** The row with another figure beside it; unchanged if there is none: a program is not on this machine. */
export function beside(row: Figure, what: string, measured: Measured | null): Figure {
  if (measured === null) return row;
  return { ...row, beside: { what, value: plain(what, measured).value } };
}

export function table(title: string, figures: readonly Figure[]): Table {
  return { title, figures };
}

const widths = [66, 14, 18, 16, 9] as const;

/** The heads of the page's columns. */
export function heads(): string {
  return lineOf(["", "measured", "least to most", "goal", "", "beside it"]);
}

/** Returns a table as text. */
export function rendered({ title, figures }: Table): string {
  const lines = figures.map(({ what, value, unit, spread, goal, met, beside: other }) => {
    const bound =
      goal === undefined ? "" : "atMost" in goal ? `at most ${goal.atMost}` : `at least ${goal.atLeast}`;
    const range = spread === undefined ? "" : `${shown(spread[0])} to ${shown(spread[1])}`;
    const compared = other === undefined ? "" : `${other.what}: ${shown(other.value)}${unit}`;
    const verdict = met === undefined ? "" : met ? "met" : "NOT MET";
    return lineOf([
      what,
      shown(value) + unit,
      range,
      bound + (goal === undefined ? "" : unit),
      verdict,
      compared,
    ]);
  });
  return `${[title, ...lines].join("\n")}\n\n`;
}

function lineOf([
  what = "",
  measured = "",
  range = "",
  bound = "",
  verdict = "",
  other = "",
]: readonly string[]): string {
  const [first, ...rest] = widths;
  const cells = [measured, range, bound, verdict].map((cell, i) => cell.padStart(rest[i] ?? 0));
  return `  ${[what.padEnd(first), ...cells, other].join(" ")}`.trimEnd();
}

function shown(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2);
}
