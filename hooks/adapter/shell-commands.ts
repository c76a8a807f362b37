/** The grammar of a shell line, as bash reads it: commands, lists, pipes, loops, functions. */
import { Cursor } from "./shell-cursor.ts";
import type { Arm, Assignment, Link, Node, Word } from "./shell-tree.ts";
import { readHereDocument, readSum, readWord } from "./shell-words.ts";

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
    nodes.push(...asides(cursor.skipLines(readHereDocument)));
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
    const aside = asides(cursor.skipLines(readHereDocument));
    const node = readPipeline(cursor);
    rest.push({ when, node: aside.length === 0 ? node : { kind: "sequence", nodes: [...aside, node] } });
  }
}

/** Commands with `|` between: each runs in a process of its own. */
function readPipeline(cursor: Cursor): Node {
  const nodes: Node[] = [];
  do {
    nodes.push(...asides(cursor.skipLines(readHereDocument)));
    while (cursor.match(/(?:!|time(?:[ \t]+-p)?|coproc)(?=[ \t\n;&|()<>]|$)/y) !== null) cursor.skipBlanks();
    nodes.push(readCommand(cursor));
    cursor.skipBlanks();
  } while (!cursor.startsWith("||") && cursor.match(/\|&?/y) !== null);
  const [only] = nodes;
  if (nodes.length === 1 && only !== undefined) return only;
  return { kind: "sequence", nodes: nodes.map(node => ({ kind: "apart", node })) };
}

function readCommand(cursor: Cursor): Node {
  const compound = cursor.deeper(() => readCompound(cursor), nothing);
  if (compound === null) return readSimple(cursor);
  const redirected = readRedirections(cursor);
  return redirected.length === 0 ? compound : { kind: "sequence", nodes: [...asides(redirected), compound] };
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
  while (cursor.match(/[ \t\n;&|()<>]*\]\](?=[ \t\n;&|()<>]|$)/y) === null) {
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
  while (true) {
    cursor.skipBlanks();
    others.push(...readRedirections(cursor));
    const from = cursor.at;
    const next = readWord(cursor);
    if (next === null) break;
    const name = words.length === 0 ? assigned(next) : null;
    if (/^[A-Za-z_]\w*(?:\[.*\])?\+?=$/s.test(cursor.text.slice(from, cursor.at)) && cursor.next === "(") {
      others.push(...readArray(cursor));
      if (name !== null) assignments.push({ name: name.name, value: null });
    } else if (name !== null) {
      assignments.push(name);
      others.push(next);
    } else {
      words.push(next);
      if (words.length === 1 && assignments.length === 0 && cursor.match(/[ \t]*\([ \t]*\)/y) !== null) {
        return functionNamed(cursor, cursor.text.slice(from, cursor.at).replace(/[ \t]*\([ \t]*\)$/, ""));
      }
    }
  }
  return { kind: "simple", assignments, words, asides: others };
}

/** `NAME=...` in front of a command; of `NAME+=...` and `NAME[...]=...` the value is not followed. */
function assigned(word: Word): Assignment | null {
  const [first, ...rest] = word;
  if (first?.kind !== "text" || first.quoted) return null;
  const [whole, name, more] = /^([A-Za-z_]\w*)(\[[^\]]*\])?\+?=/.exec(first.text) ?? [];
  if (whole === undefined || name === undefined) return null;
  if (more !== undefined || whole.endsWith("+=")) return { name, value: null };
  const text = first.text.slice(whole.length);
  return { name, value: text === "" ? rest : [{ ...first, text }, ...rest] };
}

function readArray(cursor: Cursor): readonly Word[] {
  const words: Word[] = [];
  cursor.at += 1;
  while (!cursor.isAtEnd) {
    words.push(...cursor.skipLines(readHereDocument));
    const next = readWord(cursor);
    if (next === null) break;
    words.push(next);
  }
  if (!cursor.skip(")")) cursor.fail("a bracket has no end");
  return words;
}

/** Redirections that come next, with the words in them. A here-document's text follows after the line. */
function readRedirections(cursor: Cursor): readonly Word[] {
  const words: Word[] = [];
  while (true) {
    cursor.skipBlanks();
    const operator = cursor.match(
      /(?:\d+|\{[A-Za-z_]\w*\})?(?:<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\())|&>>?/y,
    );
    if (operator === null) return words;
    cursor.skipBlanks();
    const from = cursor.at;
    const target = readWord(cursor);
    if (target === null) cursor.fail("a redirection leads nowhere");
    else if (/^[^<]*<<-?$/.test(operator)) {
      const isQuoted = /['"\\]/.test(cursor.text.slice(from, cursor.at));
      const isIndented = operator.endsWith("-");
      cursor.hereDocuments.push({ end: plainText(target), isQuoted, isIndented });
    } else words.push(target);
  }
}

function plainText(word: Word): string {
  return word.map(part => (part.kind === "text" ? part.text : "")).join("");
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
