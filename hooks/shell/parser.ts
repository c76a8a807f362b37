/** The grammar of a shell line, as bash reads it: commands, lists, pipes, loops, functions. */

import type { Arm, Assignment, Link, Node, Word } from "./ast.ts";
import { Cursor } from "./cursor.ts";
import { Redirections } from "./redirections.ts";
import { readHereDocument, readSum, readWord } from "./words.ts";

const nothing: Node = { kind: "sequence", nodes: [] };

/** Reads a whole line. Where it cannot be read to its end, `unread` says why; what came before still counts. */
export function readShell(line: string): { readonly node: Node; readonly unread: string | null } {
  const cursor = new Cursor(line, readCommands);
  const node = readCommands(cursor);
  if (!cursor.isAtEnd) cursor.fail(`it has a ${cursor.next} without a beginning`);
  return { node, unread: cursor.why };
}

/** Words that end a list of commands where they stand in place of a command. */
const closing = /(?:then|do|done|fi|else|elif|esac|\})(?=[ \t\n;&|()<>]|$)/y;

/** Commands up to whatever closes them, which is left to be read. */
function readCommands(cursor: Cursor): Node {
  const nodes: Node[] = [];
  while (true) {
    cursor.skipLines(readHereDocument);
    if (cursor.isAtEnd || /[);]/.test(cursor.next) || isNext(cursor, closing)) break;
    const from = cursor.at;
    const chain = readChain(cursor);
    cursor.skipBlanks();
    const isApart = cursor.next === "&";
    nodes.push(isApart ? { kind: "apart", node: chain } : chain);
    if (isApart) cursor.at += 1;
    else if (!/^;[;&]/.test(cursor.text.slice(cursor.at, cursor.at + 2))) cursor.skip(";");
    if (cursor.at === from) cursor.fail(`it has a ${cursor.next} where a command should be`);
  }
  return { kind: "sequence", nodes };
}

/** Commands with `&&` and `||` between. */
function readChain(cursor: Cursor): Node {
  const first = readPipeline(cursor);
  const rest: Link[] = [];
  for (cursor.skipBlanks(); ; cursor.skipBlanks()) {
    const when = cursor.skip("&&") ? "&&" : cursor.skip("||") ? "||" : null;
    if (when === null) return rest.length === 0 ? first : { kind: "chain", first, rest };
    cursor.skipLines(readHereDocument);
    rest.push({ when, node: readPipeline(cursor) });
  }
}

/** Commands with `|` between: each runs in a process of its own. */
function readPipeline(cursor: Cursor): Node {
  const nodes: Node[] = [];
  do {
    cursor.skipLines(readHereDocument);
    const isApart = readPrefixes(cursor);
    const node = readCommand(cursor);
    nodes.push(isApart ? { kind: "apart", node } : node);
    cursor.skipBlanks();
  } while (!cursor.startsWith("||") && cursor.match(/\|&?/y) !== null);
  const [only] = nodes;
  return nodes.length === 1 && only !== undefined ? only : { kind: "pipe", nodes };
}

/** What may stand in front of a pipeline; returns whether it runs beside the line. */
function readPrefixes(cursor: Cursor): boolean {
  let isApart = false;
  for (; ; cursor.skipBlanks()) {
    const found = cursor.match(/(?:!|time(?:[ \t]+-p)?|coproc)(?=[ \t\n;&|()<>]|$)/y);
    if (found === null) return isApart;
    if (found !== "coproc") continue;
    isApart = true;
    // Its name, which only a compound command can have.
    cursor.match(/[ \t]+[A-Za-z_]\w*(?=[ \t]+(?:[{(]|(?:if|while|until|for|select|case|\[\[)[ \t\n]))/y);
  }
}

function readCommand(cursor: Cursor): Node {
  const compound = cursor.deeper(() => readCompound(cursor), nothing);
  if (compound === null) return readSimple(cursor);
  const redirections = new Redirections();
  redirections.read(cursor);
  return redirections.around(compound);
}

const compounds: readonly (readonly [begin: RegExp, read: (cursor: Cursor) => Node])[] = [
  [/\(\(/y, readSumCommand],
  [/\(/y, readSubshell],
  [/\{(?=[ \t\n])/y, readGroup],
  [/\[\[(?=[ \t\n])/y, readTest],
  [/if(?=[ \t\n;&|()<>])/y, readIf],
  [/(?:while|until)(?=[ \t\n;&|()<>])/y, readWhile],
  [/(?:for|select)(?=[ \t\n])/y, readFor],
  [/case(?=[ \t\n])/y, readCase],
  [/function(?=[ \t\n])/y, readFunction],
];

/** null where a simple command begins. */
function readCompound(cursor: Cursor): Node | null {
  for (const [begin, read] of compounds) {
    if (!isNext(cursor, begin)) continue;
    if (read === readSumCommand) return readSumCommand(cursor);
    cursor.match(begin);
    return read(cursor);
  }
  return null;
}

/** `((` begins a sum, or two subshells. */
function readSumCommand(cursor: Cursor): Node {
  const from = cursor.at;
  const nodes = readSum(cursor);
  if (nodes !== null) return { kind: "sequence", nodes: nodes.map(node => ({ kind: "apart", node })) };
  cursor.back(from);
  cursor.skip("(");
  return readSubshell(cursor);
}

function readSubshell(cursor: Cursor): Node {
  const node = readCommands(cursor);
  if (!cursor.skip(")")) cursor.fail("a bracket has no end");
  return { kind: "apart", node };
}

function readGroup(cursor: Cursor): Node {
  const node = readCommands(cursor);
  expect(cursor, "}");
  return node;
}

/** `[[ ... ]]`: what stands between are words, and operators that mean nothing here. */
function readTest(cursor: Cursor): Node {
  const words: Word[] = [];
  /** Up to here it is known that the test does not end. */
  let goesOnUntil = 0;
  for (;;) {
    const start = cursor.at;
    if (start >= goesOnUntil) {
      cursor.match(/[ \t\n;&|()<>]*/y);
      goesOnUntil = cursor.at;
      if (cursor.match(/\]\](?=[ \t\n;&|()<>]|$)/y) !== null) break;
      cursor.at = start;
    }
    if (cursor.isAtEnd) cursor.fail("a bracket has no end");
    if (cursor.why !== null) break;
    const from = cursor.at;
    const word = readWord(cursor);
    if (word !== null) words.push(word);
    else if (cursor.at === from) cursor.at += 1;
  }
  return { kind: "simple", assignments: [], words: [], asides: words };
}

function readIf(cursor: Cursor): Node {
  const arms: Arm[] = [];
  let otherwise: Node | null = null;
  do {
    const condition = readCommands(cursor);
    expect(cursor, "then");
    arms.push({ condition, body: readCommands(cursor) });
  } while (word(cursor, "elif"));
  if (word(cursor, "else")) otherwise = readCommands(cursor);
  expect(cursor, "fi");
  return { kind: "if", arms, otherwise };
}

function readWhile(cursor: Cursor): Node {
  const condition = readCommands(cursor);
  return { kind: "loop", variable: null, words: null, condition, body: readBody(cursor) };
}

function readFor(cursor: Cursor): Node {
  cursor.skipLines(readHereDocument);
  if (cursor.startsWith("((")) {
    const condition = readSumCommand(cursor);
    return { kind: "loop", variable: null, words: null, condition, body: readListBody(cursor) };
  }
  const variable = cursor.match(/[A-Za-z_]\w*/y);
  if (variable === null) cursor.fail("a loop has no name");
  cursor.skipLines(readHereDocument);
  const words = word(cursor, "in") ? readWords(cursor) : null;
  return { kind: "loop", variable, words, condition: null, body: readListBody(cursor) };
}

function readWords(cursor: Cursor): readonly Word[] {
  const words: Word[] = [];
  for (cursor.skipBlanks(); ; cursor.skipBlanks()) {
    const next = readWord(cursor);
    if (next === null) return words;
    words.push(next);
  }
}

function readListBody(cursor: Cursor): Node {
  cursor.skipBlanks();
  cursor.skip(";");
  cursor.skipLines(readHereDocument);
  if (cursor.startsWith("{")) {
    cursor.at += 1;
    return readGroup(cursor);
  }
  return readBody(cursor);
}

function readBody(cursor: Cursor): Node {
  expect(cursor, "do");
  const body = readCommands(cursor);
  expect(cursor, "done");
  return body;
}

function readCase(cursor: Cursor): Node {
  cursor.skipBlanks();
  const asked = readWord(cursor);
  const arms: Node[] = [];
  cursor.skipLines(readHereDocument);
  expect(cursor, "in");
  while (!cursor.isAtEnd) {
    cursor.skipLines(readHereDocument);
    if (word(cursor, "esac")) break;
    cursor.skip("(");
    for (readWords(cursor); cursor.skip("|"); readWords(cursor));
    if (!cursor.skip(")")) cursor.fail("a case has no pattern");
    arms.push(readCommands(cursor));
    cursor.match(/;;&|;[;&]/y);
  }
  return { kind: "sequence", nodes: [...asides(asked === null ? [] : [asked]), { kind: "case", arms }] };
}

function readFunction(cursor: Cursor): Node {
  cursor.skipBlanks();
  const name = cursor.match(/[^ \t\n;&|()<>'"\\$`]+/y) ?? "";
  cursor.skipBlanks();
  cursor.match(/\([ \t]*\)/y);
  return functionNamed(cursor, name);
}

function functionNamed(cursor: Cursor, name: string): Node {
  cursor.skipLines(readHereDocument);
  return { kind: "function", name, body: cursor.deeper(() => readCommand(cursor), nothing) };
}

function readSimple(cursor: Cursor): Node {
  const assignments: Assignment[] = [];
  const words: Word[] = [];
  const others: Word[] = [];
  const redirections = new Redirections();
  while (true) {
    cursor.skipBlanks();
    redirections.read(cursor);
    const from = cursor.at;
    const next = readWord(cursor);
    if (next === null) break;
    const given = words.length === 0 ? assigned(next) : null;
    if (/^[A-Za-z_]\w*(?:\[.*\])?\+?=$/s.test(cursor.text.slice(from, cursor.at)) && cursor.next === "(") {
      const list = readArray(cursor);
      if (given === null) others.push(...list);
      else assignments.push({ ...given, kind: "list", value: list });
    } else if (given !== null) {
      assignments.push(given);
      // In a subscript, too, commands run.
      if (given.value === null) others.push(next);
    } else {
      words.push(next);
      if (words.length === 1 && assignments.length === 0 && cursor.match(/[ \t]*\([ \t]*\)/y) !== null) {
        return functionNamed(cursor, cursor.text.slice(from, cursor.at).replace(/[ \t]*\([ \t]*\)$/, ""));
      }
    }
  }
  return redirections.around({ kind: "simple", assignments, words, asides: others });
}

/** `NAME=...` in front of a command; of `NAME[...]=...` the value is not followed. */
function assigned(word: Word): Assignment | null {
  const [first, ...rest] = word;
  if (first?.kind !== "text" || first.quoted) return null;
  const [whole, name, more] = /^([A-Za-z_]\w*)(\[[^\]]*\])?\+?=/.exec(first.text) ?? [];
  if (whole === undefined || name === undefined) return null;
  const adds = whole.endsWith("+=");
  if (more !== undefined) return { name, kind: "word", value: null, adds };
  const text = first.text.slice(whole.length);
  return { name, kind: "word", value: text === "" ? rest : [{ ...first, text }, ...rest], adds };
}

function readArray(cursor: Cursor): readonly Word[] {
  const words: Word[] = [];
  cursor.at += 1;
  while (!cursor.isAtEnd) {
    cursor.skipLines(readHereDocument);
    const next = readWord(cursor);
    if (next === null) break;
    words.push(next);
  }
  if (!cursor.skip(")")) cursor.fail("a bracket has no end");
  return words;
}

/** Goes past a word of the grammar if it comes next. */
function word(cursor: Cursor, expected: string): boolean {
  const after = cursor.text.charAt(cursor.at + expected.length);
  return (after === "" || /[ \t\n;&|()<>]/.test(after)) && cursor.skip(expected);
}

function expect(cursor: Cursor, expected: string): void {
  if (!word(cursor, expected)) cursor.fail(`it has no ${expected} where there should be one`);
}

function isNext(cursor: Cursor, pattern: RegExp): boolean {
  pattern.lastIndex = cursor.at;
  return pattern.test(cursor.text);
}

function asides(words: readonly Word[]): readonly Node[] {
  return words.length === 0 ? [] : [{ kind: "simple", assignments: [], words: [], asides: words }];
}
