/** Finds the tables of a TOML text, adds one at its end and removes some; keeps every other byte. */
import { SettingsRefused } from "../../install/failed.ts";

/** A table with a header of its own: from its header to the next one. */
export interface Table {
  /** The parts of its name. */
  readonly path: readonly string[];
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
  /** What stands behind the header's line. */
  readonly body: string;
}

/**
 * Returns the tables in the order of the text. Throws SettingsRefused if a text or a list is not closed. It reads only
 * as much of TOML as it takes to know where headers are.
 */
export function tablesOf(text: string): readonly Table[] {
  const headers = headersOf(text);
  return headers.map(({ path, start, bodyStart }, i) => {
    const end = headers[i + 1]?.start ?? text.length;
    return { path, start, end, body: text.slice(bodyStart, end) };
  });
}

/** Returns true if a key at the text's root, before every header, has this name. */
export function hasRootKey(text: string, name: string): boolean {
  const root = text.slice(0, headersOf(text)[0]?.start ?? text.length);
  return new RegExp(`^[ \\t]*(?:${name}|"${name}"|'${name}')[ \\t]*[.=]`, "m").test(
    root.replace(/^\uFEFF/, ""),
  );
}

/** Returns the text with a table behind all others. */
export function appendTable(text: string, header: string, lines: readonly string[]): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text.trim() === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
  return text + gap + [`[${header}]`, ...lines, ""].join(eol);
}

/** Returns the text without these tables, and without the empty line before each. Comments behind a table stay. */
export function withoutTables(text: string, isGone: (table: Table) => boolean): string {
  const gone = tablesOf(text).filter(isGone);
  return gone.reduceRight((rest, { start, end }) => {
    const before = rest.slice(0, start);
    // The empty line came with the table. A comment below is about what follows.
    const blank = /\n(\r?\n)$/.exec(before)?.[1] ?? "";
    const lines = rest.slice(start, end).split(/(?<=\n)/);
    const own = lines.findLastIndex(line => !/^[ \t\r\n]*(?:#|$)/.test(line)) + 1;
    return before.slice(0, before.length - blank.length) + lines.slice(own).join("") + rest.slice(end);
  }, text);
}

interface Header {
  readonly path: readonly string[];
  readonly start: number;
  readonly bodyStart: number;
}

/** What can hold a bracket that opens no table, each from its first sign to its last. */
const quoted = [
  { open: '"""', close: /(?<!\\)(?:\\\\)*"""/ },
  { open: "'''", close: /'''/ },
  { open: '"', close: /^(?:[^"\\\n]|\\.)*"/ },
  { open: "'", close: /^[^'\n]*'/ },
] as const;

function headersOf(text: string): readonly Header[] {
  const found: Header[] = [];
  let depth = 0;
  let isLineStart = true;
  const first = text.startsWith("\uFEFF") ? 1 : 0;
  let at = first;
  while (at < text.length) {
    const sign = text[at] ?? "";
    if (isLineStart && depth === 0 && sign === "[") {
      const line = /^[^\r\n]*/.exec(text.slice(at))?.[0] ?? "";
      const bodyStart = at + line.length + (/^\r?\n/.exec(text.slice(at + line.length))?.[0].length ?? 0);
      found.push({ path: pathOf(line), start: Math.max(lineStart(text, at), first), bodyStart });
      at = bodyStart;
      continue;
    }
    if (sign === "\n") isLineStart = true;
    else if (!/[ \t\r]/.test(sign)) isLineStart = false;
    if (sign === "[" || sign === "{") depth += 1;
    if (sign === "]" || sign === "}") depth -= 1;
    at = sign === "#" ? endOfLine(text, at) : endOfValue(text, at);
  }
  if (depth !== 0)
    throw new SettingsRefused("it is no valid TOML: a list or a table in braces is not closed");
  return found;
}

/** Returns the offset behind the quoted text that begins at `at`; else behind the sign there. */
function endOfValue(text: string, at: number): number {
  const kind = quoted.find(({ open }) => text.startsWith(open, at));
  if (kind === undefined) return at + 1;
  const begin = at + kind.open.length;
  const end = kind.close.exec(text.slice(begin));
  if (end === null) throw new SettingsRefused("it is no valid TOML: a text in quotes is not closed");
  return begin + end.index + end[0].length;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** Returns the parts of a header's name: bare words, and texts in quotes without them. */
function pathOf(line: string): readonly string[] {
  const parts: string[] = [];
  let rest = line.replace(/^\[+[ \t]*/, "");
  for (;;) {
    const part = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))[ \t]*/.exec(rest);
    if (part === null) return parts;
    parts.push(part[1] === undefined ? (part[2] ?? part[3] ?? "") : unescaped(part[1]));
    rest = rest.slice(part[0].length);
    if (!rest.startsWith(".")) return parts;
    rest = rest.slice(1).trimStart();
  }
}

/** Returns a text in double quotes; one with escapes that JSON does not have as it stands. */
function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
