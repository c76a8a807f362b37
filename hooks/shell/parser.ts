/**
 * Reads a shell line into a tree of its commands. `unbash` parses the grammar of bash; this file keeps the parts of its
 * tree that the types below name. It says what cannot be read; what was read before or around that still counts.
 */

import {
  type ArithmeticExpression,
  type Assignment as Assigned,
  type CommandNode,
  forEachChild,
  type ParsedScript,
  type ParseError,
  type PipelineNode,
  parse,
  type Redirection,
  type Word as Spelled,
  type Statement,
  type SyntaxNode,
  type WordPart,
} from "unbash";
import { limits } from "../../protocol/limits.ts";

// The parts of a shell line that tell which programs it runs, with which words and where.

/**
 * A piece of a word. A `variable` is a name, a number, `@`, `*` or an element of an array (`NAME[@]`, `NAME[0]`).
 * `output` is what commands write, `file` a file that holds it. Only the shell knows an `opaque` piece; the commands in
 * it run before it is used. A `value` is the result of a piece: no reader of lines makes one.
 */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "variable"; readonly name: string; readonly quoted: boolean }
  /** `${NAME:-WORD}`, or without the colon: the word if the variable is not set, or `isEmptyToo`. */
  | {
      readonly kind: "default";
      readonly name: string;
      readonly isEmptyToo: boolean;
      readonly word: Word;
      readonly quoted: boolean;
    }
  | { readonly kind: "output"; readonly node: Node; readonly quoted: boolean }
  | { readonly kind: "file"; readonly node: Node }
  | { readonly kind: "opaque"; readonly commands: readonly Node[] }
  | { readonly kind: "value"; readonly text: string; readonly quoted: boolean };

export type Word = readonly Part[];

/** `adds`: the value is appended to the old one. A value of null: an element of an array. */
export type Assignment = { readonly name: string; readonly adds: boolean } & (
  | { readonly kind: "word"; readonly value: Word | null }
  | { readonly kind: "list"; readonly value: readonly Word[] }
);

/** A here-document, whose text comes after its line, or a here-string. */
interface Document {
  word: Word;
}

/** The standard input of a command: a text of the line, or the file that the word names. */
type Input = { readonly document: Document } | { readonly from: Word };

/** A file into which a redirection writes; with `empties` what was in it is gone. */
interface Output {
  readonly file: Word;
  readonly empties: boolean;
}

export type Node =
  | {
      /** A command with its words; `asides` are words of redirections and of subscripts, `outputs` files that it writes. */
      readonly kind: "simple";
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      readonly asides: readonly Word[];
      readonly outputs: readonly Output[];
    }
  | {
      /** `documents` are all of its here-documents; `input` is its standard input if that is another one. */
      readonly kind: "redirected";
      readonly node: Node;
      readonly asides: readonly Word[];
      readonly outputs: readonly Output[];
      readonly documents: readonly Document[];
      readonly input: Input | null;
      /** Its output goes to a file. */
      readonly isWritten: boolean;
    }
  | { readonly kind: "sequence"; readonly nodes: readonly Node[] }
  /** Each runs in a process of its own and reads the output of the one before. */
  | { readonly kind: "pipe"; readonly nodes: readonly Node[] }
  | { readonly kind: "chain"; readonly first: Node; readonly rest: readonly Link[] }
  /** Runs in a process of its own: its changes of directory and variables end with it. */
  | { readonly kind: "apart"; readonly node: Node }
  | { readonly kind: "if"; readonly arms: readonly Arm[]; readonly otherwise: Node | null }
  | { readonly kind: "case"; readonly arms: readonly Node[] }
  | {
      /** `for` with its variable and words (null: the arguments), or `while` with its condition. */
      readonly kind: "loop";
      readonly variable: string | null;
      readonly words: readonly Word[] | null;
      readonly condition: Node | null;
      readonly body: Node;
    }
  | { readonly kind: "function"; readonly name: string; readonly body: Node };

interface Link {
  readonly when: "&&" | "||";
  readonly node: Node;
}

interface Arm {
  readonly condition: Node;
  readonly body: Node;
}

// Short forms of zsh in bash's words, for lines that bash's grammar refuses. They are `for x (a b) git ...`,
// `foreach x (a b) ... end`, groups in patterns (`*.(ts|js)`), `&!` and `>!`.

/** A text in quotes, or a quoted character: nothing in it is a form of zsh. */
const quoted = /'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]/g;
/** Stands for a quoted text; no shell has this character. */
const mask = "\u{fdd1}";

const loop = "(?:for|foreach|select)[ \\t]+([A-Za-z_]\\w*)[ \\t]*\\(([^()]*)\\)[ \\t]*[;\\n]?[ \\t\\n]*";

const forms: readonly (readonly [RegExp, string])[] = [
  [/&[!|](?=[\s;]|$)/g, "&"],
  [/>!/g, ">|"],
  // A group matches what only the shell knows.
  [/(?<=[\w.*?\]/\u{fdd1}-])\([^()\n;&<>]{1,200}\)/gu, "*"],
  [new RegExp(`\\b${loop}do\\b`, "g"), "for $1 in $2; do"],
  [new RegExp(`\\b${loop}\\{([^{}]*)\\}`, "g"), "for $1 in $2; do $3; done"],
  [/\bfor(each[^()]*\([^()]*\)[^()]{0,2000}?)[;\n][ \t]*end\b/g, "for$1; done"],
  [/\bforeach[ \t]+([A-Za-z_]\w*)[ \t]*\(([^()]*)\)[ \t]*[;\n]?/g, "for $1 in $2; do "],
  [new RegExp(`\\b${loop}([^;\\n]*)`, "g"), "for $1 in $2; do $3; done"],
];

/** The line with these forms written out. */
function writtenOut(line: string): string {
  if (line.includes(mask)) return line;
  const texts: string[] = [];
  const masked = line.replace(quoted, text => {
    texts.push(text);
    return mask;
  });
  const plain = forms.reduce((text, [form, words]) => text.replace(form, words), masked);
  let n = 0;
  // No form drops or moves a quoted text, but for a group in a pattern.
  return plain.split(mask).length - 1 === texts.length
    ? plain.replaceAll(mask, () => texts[n++] ?? "")
    : line;
}

type Command = Extract<CommandNode, { type: "Command" }>;
type Expansion = Extract<WordPart, { type: "ParameterExpansion" }>;
type HereDoc = Extract<Redirection, { type: "HereDoc" }>;

const nothing: Node = { kind: "sequence", nodes: [] };

/** Reads a whole line. If the line cannot be read to its end, `unread` says why. Never throws. */
export function readShell(line: string): { readonly node: Node; readonly unread: string | null } {
  if (line.length > limits.shellLineChars) return { node: nothing, unread: "it is too long" };
  const { source, script } = parsed(line);
  const reader = new Reader(source);
  const node = reader.script(script);
  return { node, unread: reader.unread };
}

/** The line as bash reads it; if bash refuses it, as zsh reads it. */
function parsed(line: string): { readonly source: string; readonly script: ParsedScript } {
  const script = parse(line);
  const other = isRefused(script) ? writtenOut(line) : line;
  if (other === line) return { source: line, script };
  const again = parse(other);
  return isRefused(again) ? { source: line, script } : { source: other, script: again };
}

function isRefused({ errors }: ParsedScript): boolean {
  return (errors ?? []).length > 0;
}

class Reader {
  /** The text that positions in the tree refer to: the line, or the text between backquotes. */
  #source: string;
  unread: string | null = null;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  script(script: ParsedScript): Node {
    const outer = this.#source;
    this.#source = script.source ?? outer;
    const node = this.#deeper(() => this.#list(script.commands));
    this.#source = outer;
    this.#note(script.errors);
    return node;
  }

  #note(errors: readonly ParseError[] | undefined): void {
    const [first] = errors ?? [];
    if (first !== undefined) this.unread ??= `its syntax: ${first.message}`;
  }

  #deeper(read: () => Node): Node {
    if (this.#depth >= limits.shellDepthMax) {
      this.unread ??= "it is nested too deep";
      return nothing;
    }
    this.#depth += 1;
    const node = read();
    this.#depth -= 1;
    return node;
  }

  #list(statements: readonly Statement[]): Node {
    const nodes = statements.map(({ command, background }) => {
      const node = this.#chain(command);
      return background === true ? apart(node) : node;
    });
    return { kind: "sequence", nodes };
  }

  #chain(node: Statement["command"]): Node {
    if (node.type !== "AndOr") return this.#pipeline(node);
    const [first, ...rest] = node.commands.map(one => this.#pipeline(one));
    const links = rest.map((one, i) => ({ when: node.operators[i] ?? "&&", node: one }));
    return first === undefined ? nothing : { kind: "chain", first, rest: links };
  }

  #pipeline(node: PipelineNode): Node {
    if (node.type !== "Pipeline") return this.#deeper(() => this.#command(node));
    const nodes = node.commands.map(one => this.#pipeline(one));
    const [only] = nodes;
    return nodes.length === 1 && only !== undefined ? only : { kind: "pipe", nodes };
  }

  #command(node: CommandNode | { type: "CompoundList"; commands: readonly Statement[] }): Node {
    switch (node.type) {
      case "Command":
        return this.#simple(node);
      case "CompoundList":
        return this.#list(node.commands);
      case "Redirected":
        return this.#redirected(this.#command(node.command), node.redirects);
      case "Coproc":
        return apart(this.#command(node.body));
      case "Subshell":
        return apart(this.#command(node.body));
      case "BraceGroup":
        return this.#command(node.body);
      case "Function":
        return { kind: "function", name: node.name.text, body: this.#command(node.body) };
      case "If": {
        const arms = [node, ...node.elif].map(({ clause, then }) => ({
          condition: this.#command(clause),
          body: this.#command(then),
        }));
        return { kind: "if", arms, otherwise: node.else === undefined ? null : this.#command(node.else) };
      }
      case "For":
      case "Select": {
        const words = node.wordlist?.map(word => this.#word(word)) ?? null;
        const body = this.#command(node.body);
        return { kind: "loop", variable: node.name.text, words, condition: null, body };
      }
      case "While": {
        const condition = this.#command(node.clause);
        return { kind: "loop", variable: null, words: null, condition, body: this.#command(node.body) };
      }
      case "ArithmeticFor": {
        const condition = this.#sum(node.initialize, node.test, node.update);
        return { kind: "loop", variable: null, words: null, condition, body: this.#command(node.body) };
      }
      case "ArithmeticCommand":
        return this.#sum(node.expression);
      case "TestCommand":
        return aside(wordsIn(node.expression).map(word => this.#word(word)));
      case "Case": {
        const arms = node.items.map(({ body }) => this.#command(body));
        return { kind: "sequence", nodes: [aside([this.#word(node.word)]), { kind: "case", arms }] };
      }
    }
  }

  #sum(...expressions: readonly (ArithmeticExpression | undefined)[]): Node {
    const commands = expressions.flatMap(one => (one === undefined ? [] : this.#scriptsIn(one)));
    return { kind: "sequence", nodes: commands.map(apart) };
  }

  #simple({ name, prefix, suffix, redirects }: Command): Node {
    const assignments: Assignment[] = [];
    const words: Word[] = name === undefined ? [] : [this.#word(name)];
    const asides: Word[] = [];
    for (const one of prefix) {
      if (one.type !== "Assignment") continue;
      assignments.push(this.#assignment(one));
      // Commands in a subscript run, too.
      if (one.index !== undefined) asides.push(this.#word(one.index));
    }
    for (const one of suffix) {
      if (one.type === "Word") words.push(this.#word(one));
      if (one.type !== "Assignment") continue;
      const { index, value } = one;
      if (index !== undefined) asides.push(this.#word(index));
      const isList = value.type === "ArrayValue";
      const begin = text(this.#source.slice(one.pos, isList ? one.pos + one.name.length : value.pos), false);
      words.push(isList ? [begin] : [begin, ...this.#word(value)]);
      if (isList) asides.push(...value.elements.map(word => this.#word(word)));
    }
    return this.#redirected({ kind: "simple", assignments, words, asides, outputs: [] }, redirects);
  }

  #assignment({ name, value, append, index }: Assigned): Assignment {
    const adds = append === true;
    if (value.type === "ArrayValue")
      return { name, adds, kind: "list", value: value.elements.map(word => this.#word(word)) };
    return { name, adds, kind: "word", value: index === undefined ? this.#word(value) : null };
  }

  #redirected(node: Node, redirections: readonly Redirection[]): Node {
    const asides: Word[] = [];
    const outputs: Output[] = [];
    const documents: Document[] = [];
    let input: Input | null = null;
    let isWritten = false;
    for (const one of redirections) {
      const { descriptor } = one;
      const channel =
        descriptor === undefined ? null : descriptor.type === "FileDescriptor" ? descriptor.value : -1;
      const isInput = one.operator.startsWith("<") && (channel ?? 0) === 0;
      if (one.type !== "Redirect") {
        const document = { word: one.type === "HereDoc" ? this.#hereDocument(one) : this.#hereString(one) };
        documents.push(document);
        if (isInput) input = { document };
        continue;
      }
      const target = one.target === undefined ? [] : this.#word(one.target);
      if (isInput) input = { from: target };
      else if (isFile(one)) outputs.push({ file: target, empties: /^(?:>|>\||&>|>&)$/.test(one.operator) });
      else asides.push(target);
      const isOutput = one.operator.startsWith("&") || (one.operator.startsWith(">") && (channel ?? 1) === 1);
      if (isOutput && !(one.operator === ">&" && one.target?.text === "1")) isWritten = true;
    }
    if (documents.length === 0 && input === null && !isWritten) {
      if (node.kind === "simple") return { ...node, asides: [...node.asides, ...asides], outputs };
      if (asides.length + outputs.length === 0) return node;
    }
    return { kind: "redirected", node, asides, outputs, documents, input, isWritten };
  }

  #hereString({ target }: Extract<Redirection, { type: "HereString" }>): Word {
    return [...(target === undefined ? [] : this.#word(target)), text("\n", true)];
  }

  /** Its text, in which quotes mean nothing. */
  #hereDocument({ operator, delimiter, body }: HereDoc): Word {
    const isIndented = operator === "<<-";
    const whole = (of: string) => (isIndented ? of.replace(/^\t+/gm, "") : of);
    if (delimiter?.quoted === true) return [text(whole(body.text), true)];
    if (body.parts === undefined)
      return [
        text(
          whole(body.text).replace(/\\([\\$`\n])/g, (_, c) => (c === "\n" ? "" : c)),
          true,
        ),
      ];
    let isLineStart = true;
    return body.parts.flatMap(part => {
      if (part.type !== "Literal") {
        isLineStart = false;
        return this.#part(part, true);
      }
      const tabs = isLineStart ? /(^|\n)\t+/g : /(\n)\t+/g;
      isLineStart = part.value.endsWith("\n");
      return [text(isIndented ? part.value.replace(tabs, "$1") : part.value, true)];
    });
  }

  #word(word: Spelled): Word {
    if (word.parts === undefined) return bare(word.text);
    return word.parts.flatMap(part => this.#part(part, false));
  }

  #part(part: WordPart, quoted: boolean): readonly Part[] {
    switch (part.type) {
      case "Literal":
        return quoted ? [text(part.value, true)] : bare(part.text);
      case "SingleQuoted":
      case "AnsiCQuoted":
        return [text(part.value, true)];
      case "DoubleQuoted":
      case "LocaleString":
        // Makes "" a word, too.
        return [text("", true), ...part.parts.flatMap(one => this.#part(one, true))];
      case "SimpleExpansion": {
        const name = part.text.slice(1);
        return [/^[\w@*]/.test(name) ? { kind: "variable", name, quoted } : { kind: "opaque", commands: [] }];
      }
      case "ParameterExpansion": {
        const name = /^\$\{([A-Za-z_]\w*(?:\[(?:[@*]|\d{1,5})\])?|\d{1,5}|[@*])\}$/.exec(part.text)?.[1];
        if (name !== undefined) return [{ kind: "variable", name, quoted }];
        return [this.#defaultOf(part, quoted) ?? { kind: "opaque", commands: this.#scriptsIn(part) }];
      }
      case "ArithmeticExpansion":
        return [{ kind: "opaque", commands: this.#scriptsIn(part) }];
      case "CommandExpansion":
        return [
          { kind: "output", node: part.script === undefined ? nothing : this.script(part.script), quoted },
        ];
      case "ProcessSubstitution": {
        const node = part.script === undefined ? nothing : this.script(part.script);
        return [part.operator === "<" ? { kind: "file", node } : { kind: "opaque", commands: [node] }];
      }
      case "ExtendedGlob":
        // What it matches is known to the shell alone.
        return bare("*");
      case "Glob":
      case "BraceExpansion":
        return this.#spelled(part, part.parts ?? []);
    }
  }

  /** A variable with a word in its place; null: another expansion. */
  #defaultOf({ parameter, prefix, index, operation }: Expansion, quoted: boolean): Part | null {
    if (operation?.type !== "Default" || prefix !== undefined || index !== undefined) return null;
    const { operator, operand } = operation;
    if (!/^:?[-=]$/.test(operator) || !/^(?:[A-Za-z_]\w*|\d{1,5})$/.test(parameter)) return null;
    if (this.#depth >= limits.shellDepthMax) return null;
    this.#depth += 1;
    const word = this.#word(operand);
    this.#depth -= 1;
    return { kind: "default", name: parameter, isEmptyToo: operator.startsWith(":"), word, quoted };
  }

  /** A pattern as spelled, with what the shell inserts into it. */
  #spelled({ pos, end }: WordPart, inside: readonly WordPart[]): readonly Part[] {
    const parts: Part[] = [];
    let at = pos;
    for (const one of inside) {
      parts.push(...bare(this.#source.slice(at, one.pos)), ...this.#part(one, false));
      at = one.end;
    }
    return [...parts, ...bare(this.#source.slice(at, end))];
  }

  /** The commands in something that only the shell can work out; they run before it is used. */
  #scriptsIn(node: SyntaxNode): readonly Node[] {
    const found: Node[] = [];
    const visit = (child: SyntaxNode): void => {
      if (child.type === "Script") found.push(this.script(child));
      else forEachChild(child, visit);
    };
    forEachChild(node, visit);
    return found;
  }
}

/** Whether it writes a file: behind `>&` a number or a dash is none. */
function isFile({ operator, target }: Extract<Redirection, { type: "Redirect" }>): boolean {
  if (operator === ">&") return !/^(?:\d+-?|-)$/.test(target?.text ?? "-");
  return operator.includes(">");
}

function wordsIn(node: SyntaxNode): readonly Spelled[] {
  const found: Spelled[] = [];
  const visit = (child: SyntaxNode): void => {
    if (child.type === "Word") found.push(child);
    else forEachChild(child, visit);
  };
  forEachChild(node, visit);
  return found;
}

/** Text without quotes. A backslash quotes the next character; with a line end it disappears. */
function bare(spelled: string): readonly Part[] {
  const pieces = spelled.match(/\\[\s\S]|[^\\]+|\\$/g) ?? [];
  return pieces.flatMap(piece => {
    if (piece === "\\\n") return [];
    return piece.startsWith("\\") ? [text(piece.slice(1) || "\\", true)] : [text(piece, false)];
  });
}

function apart(node: Node): Node {
  return { kind: "apart", node };
}

/** Words that no program gets, in which commands may stand. */
function aside(asides: readonly Word[]): Node {
  return { kind: "simple", assignments: [], words: [], asides, outputs: [] };
}

function text(value: string, quoted: boolean): Part {
  return { kind: "text", text: value, quoted };
}
