/** Words of a shell line with their quotes and what the shell puts in place of `$...`. */

import type { Node, Part, Word } from "./ast.ts";
import type { Cursor } from "./cursor.ts";

const metaOrSpecial = /[\s;&|()<>'"\\$`]/;

/** The word that begins here; null where none does. What stands in it is kept in parts, so that quotes are known. */
export function readWord(cursor: Cursor): Word | null {
  const parts: Part[] = [];
  const from = cursor.at;
  while (!cursor.isAtEnd) {
    const plain = cursor.match(/[^\s;&|()<>'"\\$`]+/y);
    if (plain !== null) parts.push(text(plain, false));
    if (!readSpecial(cursor, parts)) break;
  }
  return cursor.at === from || parts.length === 0 ? null : parts;
}

/** A here-document's text: quotes mean nothing in it. */
export function readHereDocument(cursor: Cursor): Word {
  const parts: Part[] = [];
  while (!cursor.isAtEnd) {
    const plain = cursor.match(/[^\\$`]+/y);
    if (plain !== null) parts.push(text(plain, true));
    const escaping = cursor.match(/\\[\s\S]?/y);
    if (escaping !== null) parts.push(text(/^\\[\\$`\n]/.test(escaping) ? bare(escaping) : escaping, true));
    else if (!cursor.isAtEnd) readExpansion(cursor, parts, true);
  }
  return parts;
}

/** With the end of a line a backslash is nothing. */
function bare(escaping: string): string {
  return escaping === "\\\n" ? "" : escaping.charAt(1);
}

/** Returns false where the word ends. */
function readSpecial(cursor: Cursor, parts: Part[]): boolean {
  const c = cursor.next;
  if (c === "" || !metaOrSpecial.test(c)) return !cursor.isAtEnd;
  if (c === "'") parts.push(text(singleQuoted(cursor), true));
  else if (c === '"') readDoubleQuoted(cursor, parts);
  else if (c === "\\") readEscape(cursor, parts);
  else if (c === "$" || c === "`") readExpansion(cursor, parts, false);
  else if (cursor.skip("<(")) parts.push({ kind: "file", node: substituted(cursor) });
  else if (cursor.skip(">(")) parts.push({ kind: "opaque", commands: [substituted(cursor)] });
  else return false;
  return true;
}

/** A backslash takes its meaning from what follows; with the end of a line it is nothing. */
function readEscape(cursor: Cursor, parts: Part[]): void {
  cursor.at += 1;
  if (cursor.skip("\n")) return;
  parts.push(text(cursor.next === "" ? "\\" : cursor.next, true));
  cursor.at += cursor.isAtEnd ? 0 : 1;
}

function singleQuoted(cursor: Cursor): string {
  const end = cursor.text.indexOf("'", cursor.at + 1);
  if (end === -1) {
    cursor.fail("a quote has no end");
    return "";
  }
  const inside = cursor.text.slice(cursor.at + 1, end);
  cursor.at = end + 1;
  return inside;
}

function readDoubleQuoted(cursor: Cursor, parts: Part[]): void {
  cursor.at += 1;
  // So that "" is a word, too.
  parts.push(text("", true));
  while (!cursor.skip('"')) {
    if (cursor.isAtEnd || cursor.text.slice(cursor.at) === "\\") cursor.fail("a quote has no end");
    if (cursor.why !== null) return;
    const plain = cursor.match(/[^"\\$`]+/y);
    if (plain !== null) parts.push(text(plain, true));
    const escaping = cursor.match(/\\[\s\S]/y);
    if (escaping === "\\\n") continue;
    if (escaping !== null) parts.push(text(unescaped(escaping), true));
    else if (cursor.next === "$" || cursor.next === "`") readExpansion(cursor, parts, true);
  }
}

function unescaped(escaping: string): string {
  return /["\\$`]/.test(escaping.charAt(1)) ? escaping.charAt(1) : escaping;
}

/** Elements of arrays, too: `${NAME[@]}`. */
const braceName = /\{(?:[A-Za-z_]\w*(?:\[(?:[@*]|\d{1,5})\])?|\d{1,5}|[@*])\}/y;

function readExpansion(cursor: Cursor, parts: Part[], quoted: boolean): void {
  if (cursor.next === "`") {
    parts.push({ kind: "output", node: backquoted(cursor, quoted), quoted });
    return;
  }
  cursor.at += 1;
  const name = cursor.match(/[A-Za-z_]\w*|[\d@*]/y) ?? cursor.match(braceName)?.slice(1, -1);
  if (name !== undefined) parts.push({ kind: "variable", name, quoted });
  else if (cursor.match(/[#?$!-]/y) !== null) parts.push({ kind: "opaque", commands: [] });
  else if (cursor.startsWith("((")) readArithmetic(cursor, parts, quoted);
  else if (cursor.skip("(")) parts.push({ kind: "output", node: substituted(cursor), quoted });
  else if (cursor.skip("{")) parts.push({ kind: "opaque", commands: braced(cursor, quoted) });
  else if (!quoted && cursor.next === "'") parts.push(text(escaped(cursor), true));
  else if (!quoted && cursor.next === '"') readDoubleQuoted(cursor, parts);
  else parts.push(text("$", quoted));
}

function substituted(cursor: Cursor): Node {
  const node = cursor.deeper<Node>(() => cursor.commands(cursor), { kind: "sequence", nodes: [] });
  if (!cursor.skip(")")) cursor.fail("a bracket has no end");
  return node;
}

/** `$((` begins a sum, or commands in brackets within `$(`. */
function readArithmetic(cursor: Cursor, parts: Part[], quoted: boolean): void {
  const from = cursor.at;
  const commands = readSum(cursor);
  if (commands !== null) {
    parts.push({ kind: "opaque", commands });
    return;
  }
  cursor.back(from);
  if (cursor.skip("(")) parts.push({ kind: "output", node: substituted(cursor), quoted });
}

/** From `((` to its `))`, with the commands inside; null where it is no sum. */
export function readSum(cursor: Cursor): readonly Node[] | null {
  return cursor.deeper<readonly Node[] | null>(() => sum(cursor), null);
}

function sum(cursor: Cursor): readonly Node[] | null {
  cursor.at += 2;
  const inside: Part[] = [];
  for (let open = 0; !cursor.isAtEnd; ) {
    if (cursor.match(/[^()'"\\$`]+/y) !== null) continue;
    if (cursor.skip("(")) open += 1;
    else if (open > 0 && cursor.skip(")")) open -= 1;
    else if (cursor.next === ")") return cursor.skip("))") ? commandsOf(inside) : null;
    else readSpecial(cursor, inside);
  }
  return null;
}

/** From behind `${` to its `}`. Between double quotes a single one means nothing. */
function braced(cursor: Cursor, quoted: boolean): readonly Node[] {
  const inside: Part[] = [];
  const read = (): void => {
    while (!cursor.isAtEnd && cursor.next !== "}") {
      const plain = cursor.match(quoted ? /[^}"\\$`]+/y : /[^}'"\\$`]+/y);
      if (plain === null) readSpecial(cursor, inside);
    }
  };
  cursor.deeper(read, undefined);
  if (!cursor.skip("}")) cursor.fail("a bracket has no end");
  return commandsOf(inside);
}

/** In backquotes a backslash is taken away before anything else is read. */
function backquoted(cursor: Cursor, quoted: boolean): Node {
  const nodes: Node[] = [];
  const found = cursor.match(/`(?:[^`\\]|\\[\s\S])*`/y);
  if (found === null) cursor.fail("a quote has no end");
  else {
    const inside = found.slice(1, -1).replace(quoted ? /\\([$`\\"])/g : /\\([$`\\])/g, "$1");
    cursor.within(inside, inner => {
      nodes.push(inner.commands(inner));
      if (!inner.isAtEnd) inner.fail("a bracket has no beginning");
    });
  }
  return { kind: "sequence", nodes };
}

/** As `$'...'`, `echo -e` and `printf` have them. */
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
};

/** The text of `$'...'`, at its quote. */
function escaped(cursor: Cursor): string {
  const found = cursor.match(/'(?:[^'\\]|\\[\s\S])*'/y);
  if (found === null) {
    cursor.fail("a quote has no end");
    return "";
  }
  return unescapedC(found.slice(1, -1));
}

/** With what its backslashes stand for: `\\n`, `\\x41`. */
export function unescapedC(quoted: string): string {
  const code = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,6})|([0-7]{1,3})|([\s\S]))/g;
  return quoted.replace(code, (whole, x, u, long, octal, c) => {
    const hex: string | undefined = x ?? u ?? long;
    if (hex !== undefined) return character(Number.parseInt(hex, 16));
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
    return /['"\\?]/.test(c) ? c : (escapes[c] ?? whole);
  });
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}

/** The commands inside of words, which run before the words are used. */
export function commandsOf(parts: readonly Part[]): readonly Node[] {
  return parts.flatMap(part => {
    if (part.kind === "opaque") return part.commands;
    return part.kind === "output" || part.kind === "file" ? [part.node] : [];
  });
}

function text(value: string, quoted: boolean): Part {
  return { kind: "text", text: value, quoted };
}
