/** Text for a terminal: cleaning foreign text, measuring, cutting, wrapping, durations and sizes. */
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
