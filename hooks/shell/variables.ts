/**
 * The state of a shell at one point of its line: its directory and its variables.
 *
 * A text that is known only in part has a `hole` in place of each unknown piece. No text of a shell can hold that
 * character, so such texts pass through variables, quotes and further shells like any other.
 */
import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Node } from "./ast.ts";

/** Stands for an unknown text of any length. */
export const hole = "\0";

/** Where a program runs. */
export interface Where {
  /** null: only the shell knows it. One of its folders may be called `topFolder`. */
  readonly dir: string | null;
  /** The program runs there, or in a folder below that only the shell knows. */
  readonly isBelow: boolean;
  /** The program runs here if `dir` does not exist: the line did not check whether the `cd` succeeded. */
  readonly stays?: string | null;
}

export interface State extends Where {
  /** The directory to which `cd -` goes. */
  readonly before: string | null;
  /** The directories to which `popd` returns. */
  readonly stack: readonly (string | null)[];
  readonly variables: ReadonlyMap<string, string>;
  /** Variables that programs get. */
  readonly exported: ReadonlyMap<string, string>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly functions: ReadonlyMap<string, Node>;
  readonly aliases: ReadonlyMap<string, string>;
  /** `$1`, `$2` and so on; null: their number is not known. */
  readonly args: readonly string[] | null;
  /** `$0`. */
  readonly zero: string;
  /** The text on standard input; null: not known. */
  readonly input: string | null;
}

/** A word as a program gets it. */
export interface Value {
  /** The whole word if it is known; else its known beginning. */
  readonly text: string;
  readonly known: boolean;
  /** The whole word, with its holes. */
  readonly whole: string;
  /** It is what the line puts in the place of a variable; the shell may know another text. */
  readonly isDefault?: true;
}

export function asValue(whole: string): Value {
  const at = whole.indexOf(hole);
  return at === -1 ? { text: whole, known: true, whole } : { text: whole.slice(0, at), known: false, whole };
}

export const unknown: Value = asValue(hole);

/** The same; null if there are too many. */
export function boundedArgs(args: readonly string[]): readonly string[] | null {
  return args.length > limits.shellListMax ? null : args;
}

/** The same words; one unknown word in place of too many. */
export function boundedList(words: readonly string[]): readonly string[] {
  return words.length > limits.shellListMax ? [hole] : words;
}

/** The same text; a hole if it is longer than any line. */
export function bounded(text: string): string {
  return text.length > limits.shellLineChars ? hole : text;
}

/** The state when the line begins; `env`: the known variables of the shell. */
export function startIn(dir: string | null, env: ReadonlyMap<string, string> = new Map()): State {
  const none = new Map<string, never>();
  return {
    dir: dir === null ? null : folded(dir),
    isBelow: false,
    before: null,
    stack: [],
    variables: env,
    exported: env,
    lists: none,
    functions: none,
    aliases: none,
    args: null,
    zero: hole,
    input: null,
  };
}

/** The state in which another shell begins, with the exported variables. */
export function begun(state: State, args: readonly string[] | null, zero: string): State {
  const { dir, isBelow, stays = null, exported, input } = state;
  const known = args === null ? null : boundedArgs(args);
  return { ...startIn("/"), dir, isBelow, stays, variables: exported, exported, args: known, zero, input };
}

const lost: Where = { dir: null, isBelow: false };

/**
 * The directory that `to` names, seen from `from`. If only the beginning of the name is known, its known folders count:
 * the name leads there, or further in.
 */
export function enter(from: Where, to: Value): Where {
  if (to.isDefault) return lost;
  // A pattern matches names that only the shell knows.
  const open = to.whole.search(/[*?\0]/);
  const isKnown = open === -1;
  const known = isKnown ? to.text : to.whole.slice(0, to.whole.lastIndexOf("/", open) + 1);
  // A hole at the beginning may stand for a slash, and text after a hole may lead out again.
  const isAny = to.whole.startsWith(hole) || known === "/";
  if (!isKnown && (isAny || /(?:^|\/)\.\.(?:\/|$)/.test(to.whole.slice(known.length)))) return lost;
  if (known.startsWith("/")) return { dir: folded(known), isBelow: !isKnown };
  // No directory has so long a path: the shell stays where it is, or is somewhere else.
  if (from.dir === null || from.dir.length + known.length > limits.pathBytes) return lost;
  if (!from.isBelow) return { dir: folded(`${from.dir}/${known}`), isBelow: !isKnown };
  return known.split("/").includes("..") ? lost : { dir: from.dir, isBelow: true };
}

/** The working directory as a text, with a hole for its unknown part. */
export function textOf({ dir, isBelow }: Where): string {
  if (dir === null) return hole;
  return isBelow ? `${dir}/${hole}` : dir;
}

/** The path without `.`, `..` and doubled slashes. */
function folded(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    const isPast = names.at(-1) === topFolder || names.at(-1) === "..";
    if (name === ".." && !isPast) names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/** Variables above the bound count as not known. */
export function assign(state: State, name: string, value: string): State {
  if (isFull(state.variables, name)) return state;
  const variables = new Map(state.variables).set(name, bounded(value));
  const { exported } = state;
  return {
    ...state,
    variables,
    exported: exported.has(name) ? new Map(exported).set(name, bounded(value)) : exported,
  };
}

export function exportTo(state: State, name: string, value: string): State {
  if (isFull(state.variables, name) || isFull(state.exported, name)) return state;
  const exported = new Map(state.exported).set(name, bounded(value));
  return { ...state, exported, variables: new Map(state.variables).set(name, bounded(value)) };
}

export function unset(state: State, name: string): State {
  return {
    ...state,
    variables: without(state.variables, name),
    exported: without(state.exported, name),
    lists: without(state.lists, name),
  };
}

export function without<T>(all: ReadonlyMap<string, T>, name: string): ReadonlyMap<string, T> {
  return all.has(name) ? new Map([...all].filter(([key]) => key !== name)) : all;
}

/** Adds an entry; above the bound it is left out. */
export function withNamed<T>(all: ReadonlyMap<string, T>, name: string, value: T): ReadonlyMap<string, T> {
  return isFull(all, name) ? all : new Map(all).set(name, value);
}

function isFull(names: ReadonlyMap<string, unknown>, name: string): boolean {
  return names.size >= limits.shellNamesMax && !names.has(name);
}

/** The state that holds whichever branch the shell took; null: a branch that does not come here. */
export function either(a: State | null, b: State | null): State | null {
  if (a === null || b === null || a === b) return a ?? b;
  return {
    dir: a.dir === b.dir ? a.dir : null,
    isBelow: a.isBelow || b.isBelow,
    stays: a.stays ?? b.stays ?? null,
    before: a.before === b.before ? a.before : null,
    stack: isSame(a.stack, b.stack) ? a.stack : [],
    variables: eitherMap(a.variables, b.variables),
    exported: eitherMap(a.exported, b.exported),
    lists: eitherLists(a.lists, b.lists),
    functions: a.functions === b.functions ? a.functions : new Map([...a.functions, ...b.functions]),
    aliases: a.aliases === b.aliases ? a.aliases : new Map([...a.aliases, ...b.aliases]),
    args: a.args === b.args ? a.args : null,
    zero: a.zero === b.zero ? a.zero : hole,
    input: a.input === b.input ? a.input : null,
  };
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i]);
}

type Variables = ReadonlyMap<string, string>;

function eitherMap(a: Variables, b: Variables): Variables {
  if (a === b) return a;
  const names = [...a.keys(), ...b.keys()];
  return new Map(names.map(name => [name, a.get(name) === b.get(name) ? (a.get(name) ?? hole) : hole]));
}

function eitherLists(a: State["lists"], b: State["lists"]): State["lists"] {
  if (a === b) return a;
  return new Map([...a].filter(([name, list]) => list === b.get(name)));
}
