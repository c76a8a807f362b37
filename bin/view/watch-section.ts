/** Sections of `kite watch`: how they share the lines of a screen, and what of them is shown where not all fits. */
import { paint } from "./color.ts";
import { counted, cut, type Screen } from "./text.ts";

/** Lines that belong together, as a session's row and those of its agents. */
export interface Item {
  readonly lines: readonly string[];
  /** The lines to show where its section does not fit; absent: all of them. */
  readonly short?: readonly string[];
  /** How many of the section's things these lines show; 0: it is a heading. */
  readonly count: number;
  /** It is shown whatever else is. */
  readonly isMarked?: boolean;
}

export interface Section {
  readonly title: string;
  readonly items: readonly Item[];
  /** What an item shows: `session`. */
  readonly noun: string;
  /** What the items are about, if the title alone says so. */
  readonly about?: string;
  /** The command that shows the rest. */
  readonly more: string;
  /** It gets the lines of its short form first, of what the least of each other section leaves. */
  readonly isMain?: boolean;
}

/** Returns an item for each line. */
export function lineItems(lines: readonly string[]): Item[] {
  return lines.map(line => ({ lines: [line], count: 1 }));
}

/** Least number of lines of a section: its title and one line. */
const least = 2;

/** Returns the sections, each with its title, in at most `room` lines. */
export function sectionLines(sections: readonly Section[], room: number, screen: Screen): string[] {
  const lines: string[] = [];
  const wants = sections.map(({ items }) => items.reduce((sum, item) => sum + item.lines.length, 1));
  // If there is room, a blank line separates sections.
  const isSpaced = wants.reduce((sum, want) => sum + want + 1, 0) <= room;
  const main = sections.findIndex(({ isMain }) => isMain === true);
  const inShort = sections[main]?.items.reduce((sum, { lines, short = lines }) => sum + short.length, 1);
  for (const [i, given] of share(wants, room, main, inShort).entries()) {
    const section = sections[i];
    if (section === undefined || given === 0) continue;
    if (isSpaced) lines.push("");
    lines.push(
      paint(screen, "bold", cut(section.title, screen.width)),
      ...fitted(section, given - 1, screen),
    );
  }
  return lines;
}

/**
 * Divides `room` lines among sections: each gets its least, the one at `main` up to `first` lines of what is left, and then
 * small wants are met in full, while the others share the rest evenly.
 */
export function share(wants: readonly number[], room: number, main = -1, first = wants[main] ?? 0): number[] {
  const given = wants.map(() => 0);
  let left = room;
  for (const [i, want] of wants.entries()) {
    if (left < least) break;
    given[i] = Math.min(want, least);
    left -= given[i] ?? 0;
  }
  const begun = given[main] ?? 0;
  const extra = begun === 0 ? 0 : Math.max(0, Math.min(left, first - begun));
  if (extra > 0) given[main] = (given[main] ?? 0) + extra;
  left -= extra;
  for (;;) {
    const hungry = wants.flatMap((want, i) => ((given[i] ?? 0) > 0 && (given[i] ?? 0) < want ? [i] : []));
    if (left === 0 || hungry.length === 0) return given;
    for (const i of hungry) {
      if (left === 0) break;
      given[i] = (given[i] ?? 0) + 1;
      left -= 1;
    }
  }
}

/** Returns the section's lines, and how many of its things have no room. */
function fitted({ items, noun, about = "", more }: Section, room: number, screen: Screen): string[] {
  const all = items.flatMap(item => item.lines);
  if (all.length <= room) return all;
  const short = items.map(item => item.short ?? item.lines);
  if (short.flat().length <= room) return short.flat();
  const marked = items.findIndex(item => item.isMarked === true);
  if (room <= 1) return (short[Math.max(0, marked)] ?? []).slice(0, room);
  const shown = inRoom(short, Math.max(0, marked), room - 1);
  // A heading without a row below it says nothing.
  while (shown.length > 1 && items[shown.at(-1) ?? 0]?.count === 0) shown.pop();
  const lines = shown.flatMap(i => short[i] ?? []);
  const left = items.reduce((sum, { count }, i) => sum + (shown.includes(i) ? 0 : count), 0);
  if (left === 0) return lines.slice(0, room);
  const rest = cut(`  and ${counted(left, `more ${noun}`)}${about}: ${more}`, screen.width);
  return [...lines.slice(0, room - 1), paint(screen, "dim", rest)];
}

/** Returns the positions of the items that fit: from the first one on, or so many later that `marked` is among them. */
function inRoom(items: readonly (readonly string[])[], marked: number, room: number): number[] {
  const sizeOf = (i: number) => items[i]?.length ?? 0;
  let first = marked;
  for (let size = sizeOf(marked); first > 0 && size + sizeOf(first - 1) <= room; first -= 1)
    size += sizeOf(first - 1);
  const shown: number[] = [];
  let size = 0;
  for (let i = first; i < items.length; i += 1) {
    size += sizeOf(i);
    if (size > room && shown.length > 0) break;
    shown.push(i);
  }
  return shown;
}
