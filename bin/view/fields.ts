/** Names with their values below each other. */
import { paint } from "./color.ts";
import { clean, foreign, type Screen, wrap } from "./text.ts";

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
