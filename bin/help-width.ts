import { wrap } from "./view/text.ts";

/** Lines of help have so many columns at most, however wide the terminal is. */
const widest = 120;
/** A line shorter than this, in columns, ends its paragraph. */
const full = 90;

/** Fits help to a terminal: wraps paragraphs again, and indents the rest of other lines. */
export function fitHelp(text: string, columns: number): string {
  const width = Math.min(columns, widest);
  const lines: string[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const isPlain = /^\S/.test(line);
    if (isOpen && isPlain) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
    isOpen = isPlain && line.length >= full;
  }
  return lines.flatMap(line => wrapped(line, width)).join("\n");
}

function wrapped(line: string, columns: number): readonly string[] {
  if (line.length <= columns) return [line];
  const indent = line.length - line.trimStart().length;
  const more = indent === 0 ? 0 : 2;
  return wrap(line.trimStart(), columns - indent, more).map(part => " ".repeat(indent) + part);
}
