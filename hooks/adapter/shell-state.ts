/** What a shell knows at one place of its line: where it is, and its variables. null: only the shell itself knows. */
import { limits } from "../../protocol/limits.ts";
import type { Node, Part, Word } from "./shell-tree.ts";

export interface State {
  readonly dir: string | null;
  /** Where `cd -` goes. */
  readonly before: string | null;
  /** What `popd` comes back to. */
  readonly stack: readonly (string | null)[];
  readonly variables: ReadonlyMap<string, string | null>;
  /** Variables that programs get. */
  readonly exported: ReadonlyMap<string, string | null>;
  readonly functions: ReadonlyMap<string, Node>;
}

/** A word as a program gets it; where it is not known, `text` is what it begins with. */
export interface Value {
  readonly text: string;
  readonly known: boolean;
}

export const unknown: Value = { text: "", known: false };

export function startIn(dir: string): State {
  const none = new Map<string, never>();
  return { dir: folded(dir), before: null, stack: [], variables: none, exported: none, functions: none };
}

/** The directory that `to` names, seen from `from`. */
export function directory(from: string | null, to: Value): string | null {
  if (!to.known) return null;
  if (to.text.startsWith("/")) return folded(to.text);
  return from === null ? null : folded(`${from}/${to.text}`);
}

/** Without `.`, `..` and doubled slashes. */
function folded(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/** Beyond a number of variables, further ones are not known. */
export function assign(state: State, name: string, value: string | null): State {
  if (isFull(state.variables, name)) return state;
  const variables = new Map(state.variables).set(name, value);
  const { exported } = state;
  return {
    ...state,
    variables,
    exported: exported.has(name) ? new Map(exported).set(name, value) : exported,
  };
}

export function exportTo(state: State, name: string, value: string | null): State {
  if (isFull(state.variables, name) || isFull(state.exported, name)) return state;
  const exported = new Map(state.exported).set(name, value);
  return { ...state, exported, variables: new Map(state.variables).set(name, value) };
}

function isFull(names: Variables, name: string): boolean {
  return names.size >= limits.shellNamesMax && !names.has(name);
}

/** What holds whichever way the shell went; null is a way that does not come here. */
export function either(a: State | null, b: State | null): State | null {
  if (a === null || b === null || a === b) return a ?? b;
  const isSameStack = a.stack.length === b.stack.length && a.stack.every((dir, i) => dir === b.stack[i]);
  return {
    dir: a.dir === b.dir ? a.dir : null,
    before: a.before === b.before ? a.before : null,
    stack: isSameStack ? a.stack : [],
    variables: eitherMap(a.variables, b.variables),
    exported: eitherMap(a.exported, b.exported),
    functions: new Map([...a.functions, ...b.functions]),
  };
}

type Variables = ReadonlyMap<string, string | null>;

function eitherMap(a: Variables, b: Variables): Variables {
  if (a === b) return a;
  const names = [...a.keys(), ...b.keys()];
  return new Map(names.map(name => [name, a.get(name) === b.get(name) ? (a.get(name) ?? null) : null]));
}

/** The words that the shell makes of one: braces, variables, fields. Patterns of file names stay as they are. */
export function expand(word: Word, state: State): readonly Value[] {
  return braces(word).flatMap(each => fields(each, state));
}

/** A word as one value, as in an assignment: nothing in it is split. */
export function single(word: Word, state: State): Value {
  const quoted = word.map(part => (part.kind === "variable" ? { ...part, quoted: true } : part));
  return fields(quoted, state)[0] ?? { text: "", known: true };
}

function fields(word: Word, state: State): Value[] {
  const done: Value[] = [];
  let value = { text: "", known: true };
  let isThere = false;
  const add = (text: string | null): void => {
    if (text === null) value = { ...value, known: false };
    else if (value.known) value = { text: value.text + text, known: true };
  };
  for (const [i, part] of word.entries()) {
    const text = i === 0 && isTilde(part) ? null : textOf(part, state);
    const isQuoted = part.kind !== "opaque" && part.quoted;
    if (text === null || isQuoted || part.kind === "text") {
      add(text);
      isThere ||= isQuoted || text !== "";
      continue;
    }
    const [first = "", ...others] = text.split(/[ \t\n]+/);
    add(first);
    isThere ||= first !== "";
    for (const other of others) {
      if (isThere) done.push(value);
      value = { text: other, known: true };
      isThere = other !== "";
    }
  }
  return isThere ? [...done, value] : done;
}

/** `~` and `~name`: somebody's home. */
function isTilde(part: Part): boolean {
  return part.kind === "text" && !part.quoted && part.text.startsWith("~");
}

function textOf(part: Part, { dir, before, variables }: State): string | null {
  if (part.kind === "text") return part.text;
  if (part.kind === "opaque") return null;
  if (part.name === "PWD") return dir;
  if (part.name === "OLDPWD") return before;
  return variables.get(part.name) ?? null;
}

/** `a{b,c}` is two words. What is more involved is not known. */
function braces(word: Word): readonly Word[] {
  const at = word.findIndex(
    part => part.kind === "text" && !part.quoted && /\{[^{}]*(?:,|\.\.)/.test(part.text),
  );
  const part = word[at];
  if (part?.kind !== "text") return isBroken(word) ? [[...word, { kind: "opaque", commands: [] }]] : [word];
  const [, head, inside, tail] = /^([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)$/.exec(part.text) ?? [];
  if (head === undefined || inside === undefined || tail === undefined || word.length > 1) {
    return [[{ kind: "opaque", commands: [] }]];
  }
  return inside.split(",").map(text => [{ ...part, text: head + text + tail }]);
}

/** Whether a brace that opens is followed by quotes or variables before its comma. */
function isBroken(word: Word): boolean {
  const open = word.findIndex(part => part.kind === "text" && !part.quoted && /\{[^}]*$/.test(part.text));
  return (
    open !== -1 &&
    word.slice(open + 1).some(part => part.kind === "text" && !part.quoted && /[,}]/.test(part.text))
  );
}
