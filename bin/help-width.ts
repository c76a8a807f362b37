import { wrap } from "./view/text.ts";

/** Texts of help are written for this many columns. */
const written = 120;
/** A shorter line ends where it is meant to. */
const full = 90;

/** Help for a terminal of fewer columns: its paragraphs are set anew, everything else goes on indented. */
export function fitHelp(text: string, columns: number): string {
  if (columns >= written) return text;
  const lines: string[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const isPlain = /^\S/.test(line);
    if (isOpen && isPlain) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
    isOpen = isPlain && line.length >= full;
  }
  return lines.flatMap(line => wrapped(line, columns)).join("\n");
}

function wrapped(line: string, columns: number): readonly string[] {
  if (line.length <= columns) return [line];
  const indent = line.length - line.trimStart().length;
  const more = indent === 0 ? 0 : 2;
  return wrap(line.trimStart(), columns - indent, more).map(part => " ".repeat(indent) + part);
}
