/** The words that a shell makes of one word: braces, variables, fields. */

import { limits } from "../../protocol/limits.ts";
import type { Part, Word } from "./parser.ts";
import { asValue, bounded, hole, type State, textOf, type Value } from "./variables.ts";

/** File name patterns stay as they are. */
export function expand(word: Word, state: State): readonly Value[] {
  return braces(word).flatMap(each => fields(each, state));
}

/** A word as one value, as in an assignment: it is not split. */
export function single(word: Word, state: State): Value {
  const quoted = word.map((part): Part => {
    // What it was when the text is used is not known any more.
    if (part.kind === "default") {
      const { text, isSure } = inPlace(part, state);
      return { kind: "value", text: isSure ? text : hole, quoted: true };
    }
    return part.kind === "variable" || part.kind === "value" ? { ...part, quoted: true } : part;
  });
  // In an assignment the elements of a list are one text, too.
  return asValue(
    bounded(
      fields(quoted, state)
        .map(({ whole }) => whole)
        .join(" "),
    ),
  );
}

/** The fields of one word while they are collected. */
class Fields {
  readonly done: Value[] = [];
  #now = "";
  #isThere = false;
  #isDefault = false;

  /** What is being collected may be another text. */
  doubt(): void {
    this.#isDefault = true;
  }

  add(text: string, isThere: boolean): void {
    this.#now = bounded(this.#now + text);
    this.#isThere ||= isThere || text !== "";
  }

  end(): void {
    if (this.#isThere)
      this.done.push({ ...asValue(this.#now), ...(this.#isDefault ? { isDefault: true } : {}) });
    this.#now = "";
    this.#isThere = false;
    this.#isDefault = false;
  }

  /** A list without elements makes no word, even in quotes. */
  vanish(): void {
    if (this.#now === "") this.#isThere = false;
  }

  /** Adds text that ends a field at every blank. */
  split(text: string): void {
    for (const [i, each] of text.split(/[ \t\n]+/).entries()) {
      if (i > 0) this.end();
      this.add(each, false);
    }
  }
}

function fields(word: Word, state: State): Value[] {
  const all = new Fields();
  for (const [i, part] of word.entries()) {
    const fallback = part.kind === "default" ? inPlace(part, state) : null;
    const texts =
      fallback !== null
        ? [fallback.text]
        : i === 0 && isTilde(part)
          ? [tilde(part.text, state)]
          : textsOf(part, state);
    const isQuoted = part.kind === "text" || isInQuotes(part);
    if (texts.length === 0) all.vanish();
    for (const [n, text] of texts.entries()) {
      if (n > 0) all.end();
      if (fallback !== null && !fallback.isSure) all.doubt();
      if (isQuoted) all.add(text, isInQuotes(part));
      else all.split(text);
    }
  }
  all.end();
  return all.done;
}

function isInQuotes(part: Part): boolean {
  return "quoted" in part && part.quoted;
}

/** Whether it begins with a home directory: `~` or `~name`. */
function isTilde(part: Part): part is Extract<Part, { kind: "text" }> {
  return part.kind === "text" && !part.quoted && part.text.startsWith("~");
}

function tilde(text: string, state: State): string {
  const [name = ""] = text.split("/", 1);
  return homeOf(name, state) + text.slice(name.length);
}

function homeOf(name: string, state: State): string {
  if (name === "~") return state.variables.get("HOME") ?? hole;
  if (name === "~+") return textOf(state);
  return name === "~-" ? (state.before ?? hole) : hole;
}

/** One text, or the texts of a list's elements. */
function textsOf(part: Part, state: State): readonly string[] {
  if (part.kind === "text" || part.kind === "value") return [part.text];
  return part.kind === "variable" ? variable(part.name, part.quoted, state) : [hole];
}

/** The variable's text, or that of the word in its place. It is not sure if the variable is not known. */
function inPlace(
  { name, isEmptyToo, word }: Extract<Part, { kind: "default" }>,
  state: State,
): { readonly text: string; readonly isSure: boolean } {
  const [known = ""] = variable(name, true, state);
  const isSure = known !== hole;
  const isNone = !isSure || (known === "" && (isEmptyToo || /^\d/.test(name)));
  if (!isNone) return { text: known, isSure };
  const texts = fields(word, state).map(({ whole }) => whole);
  return { text: bounded(texts.join(" ")), isSure };
}

function variable(name: string, quoted: boolean, state: State): readonly string[] {
  const { before, variables, lists, args, zero } = state;
  if (/^\d+$/.test(name))
    return [name === "0" ? zero : args === null ? hole : (args[Number(name) - 1] ?? "")];
  if (name === "@" || name === "*") return several(args, name, quoted);
  const [, array, index] = /^(\w+)\[(.+)\]$/.exec(name) ?? [];
  if (array !== undefined && index !== undefined) {
    const list = lists.get(array) ?? null;
    if (index === "@" || index === "*") return several(list, index, quoted);
    return [list === null ? hole : (list[Number(index)] ?? "")];
  }
  if (name === "PWD") return [textOf(state)];
  if (name === "OLDPWD") return [before ?? hole];
  return [variables.get(name) ?? lists.get(name)?.[0] ?? (name === "IFS" ? " \t\n" : hole)];
}

function several(
  list: readonly string[] | null,
  name: "@" | "*" | string,
  quoted: boolean,
): readonly string[] {
  if (list === null) return [hole];
  return name === "*" && quoted ? [list.join(" ")] : list;
}

/** `a{b,c}` is two words. The result of nested braces counts as not known. */
function braces(word: Word): readonly Word[] {
  const at = word.findIndex(part => part.kind === "text" && !part.quoted && hasAlternatives(part.text));
  const part = word[at];
  if (part?.kind !== "text") return isBroken(word) ? [[...word, { kind: "opaque", commands: [] }]] : [word];
  const { text } = part;
  const [open, close] = [text.indexOf("{"), text.indexOf("}")];
  const isPlain = open < close && open === text.lastIndexOf("{") && close === text.lastIndexOf("}");
  const inside = text.slice(open + 1, close);
  if (!isPlain || !inside.includes(",") || word.length > 1) return [[{ kind: "opaque", commands: [] }]];
  const [head, tail] = [text.slice(0, open), text.slice(close + 1)];
  // Each alternative gets the text around it; too many long ones count as not known.
  const alternatives = inside.split(",");
  if (alternatives.length * (head.length + tail.length) > limits.shellLineChars)
    return [[{ kind: "opaque", commands: [] }]];
  return alternatives.map(each => [{ ...part, text: head + each + tail }]);
}

/** Whether a brace opens, and a comma or two dots follow before the next brace. */
function hasAlternatives(text: string): boolean {
  let isOpen = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === "{") isOpen = true;
    else if (char === "}") isOpen = false;
    else if (isOpen && (char === "," || (char === "." && text[i + 1] === "."))) return true;
  }
  return false;
}

/** Whether quotes or variables follow an open brace before its comma. */
function isBroken(word: Word): boolean {
  const isText = (part: Part) => part.kind === "text" && !part.quoted;
  const open = word.findIndex(
    part => part.kind === "text" && !part.quoted && part.text.lastIndexOf("{") > part.text.lastIndexOf("}"),
  );
  return (
    open !== -1 && word.slice(open + 1).some(part => isText(part) && "text" in part && /[,}]/.test(part.text))
  );
}
