/** Text for a terminal: cleaning foreign text, measuring, cutting, wrapping, durations and sizes. */

import type { EventLine } from "../../protocol/events.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import { plain } from "../../protocol/text.ts";

/** Columns of an output that is no terminal, and of tables where lines may have any length. */
export const pipeColumns = 120;

/**
 * The terminal of a view. `width` is in columns, infinite where lines may have any length; `now` wall time in milliseconds,
 * views show `home` as `~`.
 */
export interface Screen {
  readonly width: number;
  readonly color: boolean;
  readonly now: number;
  readonly home: string;
}

/**
 * Returns all of `text` on one line, safe to show. Every name and text of a session, a file system or a configuration
 * passes here before it reaches a terminal.
 */
export function clean(text: string): string {
  return plain(text);
}

const zeroWidth = /\p{M}/u;
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

function columnsOf(character: string): number {
  if (character < "\u0300") return 1;
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Letters of the Latin alphabet and before, which take one column each. */
const isNarrow = /^[\0-\u02ff]*$/;

/** Columns that cleaned `text` takes in a terminal; wide characters take two. */
export function widthOf(text: string): number {
  if (isNarrow.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** Where a text is cut. `middle` keeps more of the end: of a path the file's name. */
export type CutSide = "end" | "start" | "middle";

/** Cuts cleaned `text` to at most `width` columns; `…` marks the cut. */
export function cut(text: string, width: number, side: CutSide = "end"): string {
  if (widthOf(text) <= width) return text;
  if (width <= 1) return width === 1 ? "…" : "";
  if (side === "middle") {
    const front = Math.floor((width - 1) / 3);
    return cut(text, front + 1, "end") + cut(text, width - front, "start").slice(1);
  }
  const characters = [...text];
  if (side === "start") characters.reverse();
  const kept: string[] = [];
  let room = width - 1;
  for (const character of characters) {
    room -= columnsOf(character);
    if (room < 0) break;
    kept.push(character);
  }
  return side === "start" ? `…${kept.reverse().join("")}` : `${kept.join("")}…`;
}

/** Fills cleaned `text` with blanks up to `width` columns. */
export function pad(text: string, width: number, align: "left" | "right" = "left"): string {
  const blanks = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? text + blanks : blanks + text;
}

const nonBreaking = "\u00a0";

/** `text` as one word for `wrap`. */
export function bound(text: string): string {
  return text.replaceAll(" ", nonBreaking);
}

/** Returns a `bound` text with plain blanks. */
export function unbound(text: string): string {
  return text.replaceAll(nonBreaking, " ");
}

/**
 * Sets the words of cleaned `text` in lines of at most `width` columns. Lines after the first begin with `indent`
 * blanks, which count; a word that is longer than a line is cut. `bound` text stays on one line.
 */
export function wrap(text: string, width: number, indent = 0): string[] {
  const lines: string[] = [];
  let line = "";
  const margin = " ".repeat(Math.min(indent, Math.max(0, width - 1)));
  for (const word of text.split(" ")) {
    const grown = line === "" ? word : `${line} ${word}`;
    const prefix = lines.length === 0 ? "" : margin;
    if (line !== "" && widthOf(prefix + grown) > width) {
      lines.push(prefix + line);
      line = word;
    } else {
      line = grown;
    }
  }
  lines.push((lines.length === 0 ? "" : margin) + line);
  return lines.map(l => cut(unbound(l).trimEnd(), width));
}

/** Sets a text of several lines, each cleaned and wrapped to `width` columns. */
export function paragraphs(text: string, width: number): string[] {
  return text.split("\n").flatMap(line => wrap(clean(line), width));
}

/**
 * Sets a text of an agent. If it takes several lines, each begins with a bar, or a line of it could pass for one of
 * Kite's own.
 */
export function foreign(text: string, width: number): string[] {
  const alone = paragraphs(text, width);
  return alone.length === 1 ? alone : paragraphs(text, width - 2).map(line => `│ ${line}`);
}

/** A duration in the two largest units that say something: `3s`, `2m`, `1h 5m`, `4d 2h`; rounded down. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, "h", minutes % 60, "m");
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** A duration that may be short: `12ms`, `3.2s`, then as `duration`. */
export function precise(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  return ms < 10_000 ? `${Math.floor(ms / 100) / 10}s` : duration(ms);
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}

/** A size: `512 B`, `1.5 KiB`, `12 MiB`. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = Math.max(0, count);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text =
    unit === 0 || value >= 10 ? Math.floor(value).toString() : value.toFixed(1).replace(/\.0$/, "");
  return `${text} ${units[unit]}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Local time of day with seconds, and the date if it is not today: `14:02:11`, `Nov 20 14:02:11`. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const two = (n: number) => n.toString().padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const today = new Date(now).toDateString() === date.toDateString();
  return today ? time : `${months[date.getMonth()]} ${date.getDate()} ${time}`;
}

/** `count` with its noun: `1 session`, `2 sessions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Names one after the other, and how many more there are: `a, b, 3 more`. */
export function listed(names: readonly string[], more = 0): string {
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

// Colour: decides in one place whether to colour, and adds colour after views have measured their text.

export type Style = "plain" | "bold" | "dim" | "reverse" | "red" | "green" | "yellow" | "blue" | "cyan";

const codes: Readonly<Record<Style, string>> = {
  plain: "",
  bold: "1",
  dim: "2",
  reverse: "7",
  red: "31",
  green: "32",
  yellow: "33",
  blue: "34",
  cyan: "36",
};

/**
 * Returns whether to colour. `FORCE_COLOR` decides if it is set (`0` and `false` mean no), then `NO_COLOR` if it is not
 * empty. Else a terminal that is not `dumb` gets colour.
 */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env["NO_COLOR"]) return false;
  return isTerminal && env["TERM"] !== "dumb";
}

/** Puts `style` on `text`, or returns it unchanged on a screen without colour. */
export function paint(screen: { readonly color: boolean }, style: Style, text: string): string {
  if (!screen.color || style === "plain" || text === "") return text;
  return `\u001b[${codes[style]}m${text}\u001b[0m`;
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");

/** Returns `line` without the codes that `paint` added. */
export function unpainted(line: string): string {
  return line.replace(escapes, "");
}

// Tables for a terminal.

/** A cell's text must be clean; `table` adds the style after it measured the text. */
export type Cell = string | { readonly text: string; readonly style: Style };

export interface Column {
  readonly align?: "left" | "right";
  /** Least width of the column, in terminal columns; without it the column keeps its width. */
  readonly min?: number;
  /** Most columns, so that one long text does not take the room of all rows. */
  readonly max?: number;
  /** Where `table` cuts text: a path in its middle. */
  readonly cut?: CutSide;
}

const gap = 2;

function textOf(cell: Cell | undefined): string {
  return typeof cell === "string" ? cell : (cell?.text ?? "");
}

/**
 * Returns columns two blanks apart, each as wide as its widest cell. If the screen is narrower, columns with a `min`
 * shrink, the widest first. Omits blanks at a line's end, and columns without text.
 */
export function table(
  rows: readonly (readonly Cell[])[],
  columns: readonly Column[],
  screen: Pick<Screen, "width" | "color">,
  indent = 0,
): string[] {
  const widths = columns.map(({ max = Number.POSITIVE_INFINITY }, i) =>
    Math.min(max, Math.max(0, ...rows.map(row => widthOf(textOf(row[i]))))),
  );
  const width = Number.isFinite(screen.width) ? screen.width : pipeColumns;
  shrink(widths, columns, width - indent);
  return rows.map(row => {
    const last = row.findLastIndex((cell, i) => textOf(cell) !== "" && (widths[i] ?? 0) > 0);
    let line = " ".repeat(indent);
    let begun = false;
    for (const [i, column] of columns.entries()) {
      const width = widths[i] ?? 0;
      if (width === 0 || i > last) continue;
      const cell = row[i];
      const text = cut(textOf(cell), width, column.cut);
      const filled = pad(text, width, column.align);
      const shown = i === last && column.align !== "right" ? text : filled;
      const style = typeof cell === "object" ? cell.style : "plain";
      line += (begun ? " ".repeat(gap) : "") + paint(screen, style, shown);
      begun = true;
    }
    return line;
  });
}

function shrink(widths: number[], columns: readonly Column[], room: number): void {
  const total = () => {
    const shown = widths.filter(w => w > 0);
    return shown.reduce((sum, w) => sum + w, 0) + gap * Math.max(0, shown.length - 1);
  };
  let over = total() - room;
  while (over > 0) {
    let widest = -1;
    for (const [i, column] of columns.entries()) {
      const width = widths[i] ?? 0;
      if (column.min === undefined || width <= column.min) continue;
      if (widest === -1 || width > (widths[widest] ?? 0)) widest = i;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  dropFromRight(widths, total, room);
}

/** If even the narrowest columns do not fit, cuts the last ones, then omits them. */
function dropFromRight(widths: number[], total: () => number, room: number): void {
  for (let i = widths.length - 1; i >= 0; i -= 1) {
    const over = total() - room;
    if (over <= 0) return;
    widths[i] = Math.max(0, (widths[i] ?? 0) - over);
  }
}

// Names with their values below each other.

/** A field: its name, and its value in one or more paragraphs. Without a value, or with an empty one, it is left out. */
export type Field = readonly [name: string, value: string | readonly string[] | null];

const valueColumnsMin = 6;

/** Returns the fields, the values aligned and wrapped. */
export function fieldLines(fields: readonly Field[], screen: Screen, indent = 2): string[] {
  const shown = fields.flatMap(([name, value]) => {
    const paragraphs = typeof value === "string" ? [value] : (value ?? []);
    return paragraphs.every(text => text === "") ? [] : [[name, paragraphs] as const];
  });
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  const margin = " ".repeat(indent);
  return shown.flatMap(([name, paragraphs]) => {
    const room = Math.max(valueColumnsMin, screen.width - indent - width - 2);
    const [first = "", ...rest] = paragraphs.flatMap(text => wrapped(text, room));
    const label = paint(screen, "dim", name.padEnd(width));
    return [
      `${margin}${label}  ${first}`.trimEnd(),
      ...rest.map(line => `${margin}${" ".repeat(width + 2)}${line}`),
    ];
  });
}

/** Wraps the text; blanks before it indent all of it. Only an agent's text has lines of its own. */
function wrapped(text: string, room: number): string[] {
  if (text.includes("\n")) return foreign(text, room);
  const blanks = " ".repeat(text.length - text.trimStart().length);
  return wrap(clean(text), room - blanks.length).map(part => blanks + part);
}

// What a feature adds to the rows and screens of agents: the point that views offer.

/** A session's main agent, or another agent within it. */
export type OneAgent = SessionRow | AgentRow;

/** Returns the name under which a view shows a file. */
export type FileName = (path: string) => string;

/** Each part is asked of all features in the order of their list. */
export interface AgentFeature {
  /** Returns the state of an agent that somebody has to look at, in place of its plain one; null: the plain one. */
  trouble?(agent: OneAgent): Exclude<Cell, string> | null;
  /** Whether a person has to look at the agent. */
  needsPerson?(agent: OneAgent): boolean;
  /** Whether a session has a line of its own for it, however quiet it is. */
  isShown?(session: SessionRow): boolean;
  /** Returns what to do about an agent, called `name`. */
  advice?(agent: OneAgent, name: string, session: SessionRow): readonly string[];
  /** Returns where a session comes from. */
  origin?(session: SessionRow): readonly string[];
  /** Returns the command that opens the session's screen in a person's terminal; null: the feature knows none. */
  opens?(session: SessionRow): string | null;
  /** Returns how the agent is, in more words than its plain status; null: nothing is known. */
  life?(agent: OneAgent): string | null;
  /** Whether the agent leads others. */
  leads?(agent: OneAgent): boolean;
  /** Returns the fields of `kite agent`. */
  fields?(session: SessionRow, agent: OneAgent | undefined): readonly Field[];
  /** Returns an event of the feature as one line; null: it is no such event, or does not concern a person. */
  sentence?(event: EventLine, file: FileName): string | null;
}

/** What a session's main agent waits for a person for. */
export const attention: AgentFeature = {
  fields: (session, agent) => [["needs you", agent === session ? session.attention : null]],
};
