/** How large a file and a function may be. */
import { codeOf, type Source } from "./tidy-source.ts";

export const fileLinesMax = 900;
export const functionLinesMax = 60;
/** How many source files there are at most; once the store is rows, 520. */
export const filesMax = 566;

/** Names of functions that are longer, with the lines that they may have. No entry is added, and no number rises. */
export const longFunctions: ReadonlyMap<string, number> = new Map([
  ["forward", 79],
  ["attempt", 72],
]);

/** A function of a source, with the lines from its first one to its closing brace. */
export interface Measured {
  readonly name: string;
  readonly lines: number;
}

export function linesOf({ text }: Source): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

export function longFiles(sources: readonly Source[]): string[] {
  return sources.filter(s => linesOf(s) > fileLinesMax).map(s => `${s.path} has ${linesOf(s)} lines`);
}

/** Whether a source begins with a comment of its own, before imports or an empty line. */
export function hasHeader({ text }: Source): boolean {
  return /^(?:#!.*\n)?(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n|(?:\/\/.*\n)+)(?:\n|import\b)/.test(text);
}

/** Functions with more lines than they may have, and names of `allowed` that no long function has. */
export function wronglyLong(sources: readonly Source[], allowed: ReadonlyMap<string, number>): string[] {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const source of sources) {
    for (const { name, lines } of functionsOf(source)) {
      if (lines <= functionLinesMax) continue;
      seen.add(name);
      if (lines > (allowed.get(name) ?? 0)) found.push(`${source.path}: ${name} has ${lines} lines`);
    }
  }
  const gone = [...allowed.keys()].filter(name => !seen.has(name));
  return [...found, ...gone.map(name => `${name} is long no more: take it off the list`)];
}

const closer = /^\s*[)\]}]/;
const modifiers = "(?:(?:export|default|async|static|override|get|set) )*";
const keyword = /^\s*(?:if|for|while|switch|catch|return|await|else|do|try|yield|throw|new)\b/;
const method = new RegExp(`^\\s*${modifiers}\\*?(#?[\\w$]+)(?:<.*>)?\\(`);
const functionNames = [new RegExp(`^\\s*${modifiers}function\\*? ([\\w$]+)`), method];
const arrowNames = [new RegExp(`^\\s*${modifiers}(?:const|let) ([\\w$]+)`), /^\s*(#?[\w$]+)(?: =|:) /];

/**
 * The functions of a source that span lines, nested ones too. Reads the formatter's layout: a function ends at the first
 * closing bracket at the indentation of its first line. One without a name has that of the function around it.
 */
export function functionsOf({ path, text }: Source): Measured[] {
  const lines = (path.endsWith(".tsx") ? text : codeOf(text).text).split("\n");
  const indents = lines.map(line => line.search(/\S/));
  const found: Measured[] = [];
  const around: { readonly end: number; readonly name: string }[] = [];
  for (const [at, line] of lines.entries()) {
    const indent = indents[at] ?? -1;
    const first = closer.test(line) ? headOf(lines, indents, at) : at;
    const head = lines[first] ?? "";
    if (indent === -1 || !isFunction(head, line)) continue;
    while ((around.at(-1)?.end ?? at) < at) around.pop();
    const names = line.includes("=>") ? arrowNames : functionNames;
    const own = names.map(pattern => pattern.exec(head)?.[1]).find(Boolean);
    const name = own ?? around.at(-1)?.name ?? "a function without a name";
    const end = endOf(lines, indents, at);
    around.push({ end, name });
    found.push({ name, lines: end - first + 1 });
  }
  return found;
}

/** The line that a line beginning with a closing bracket goes with. */
function headOf(lines: readonly string[], indents: readonly number[], at: number): number {
  let head = at - 1;
  while (head > 0 && (indents[head] !== indents[at] || closer.test(lines[head] ?? ""))) head -= 1;
  return head;
}

/** The last line of what a line opens; an arrow at its end opens an expression, which no bracket of its own closes. */
function endOf(lines: readonly string[], indents: readonly number[], at: number): number {
  const indent = indents[at] ?? 0;
  const isExpression = lines[at]?.endsWith("=>") === true;
  const isEnd = (n: number) =>
    isExpression
      ? indents[n] !== -1 && (indents[n] ?? 0) <= indent
      : indents[n] === indent && closer.test(lines[n] ?? "");
  let end = at + 1;
  while (end < lines.length && !isEnd(end)) end += 1;
  return isExpression ? end - 1 : end;
}

/** Whether a line that ends with an opening bracket, or with an arrow, opens a function whose first line is `head`. */
function isFunction(head: string, line: string): boolean {
  if (/=>(?:.*[{([])?$/.test(line)) return true;
  if (!line.endsWith("{") || keyword.test(head)) return false;
  if (/\bfunction\b/.test(head)) return true;
  return /\)(?:: .*)? \{$/.test(line) && method.test(head);
}
