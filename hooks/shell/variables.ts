/**
 * The state of a shell at one point of its line: its directory and its variables.
 *
 * A text that is known only in part has a `hole` in place of each unknown piece. No text of a shell can hold that
 * character, so such texts pass through variables, quotes and further shells like any other.
 */

import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Node } from "./parser.ts";

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

// The options before a program's words: clustered letters, `--name=value`, `--`.

export interface OptionNames {
  /** Letters that take a value, from the same word or the next one. */
  readonly short: string;
  /** Letters that take a value from the same word alone. */
  readonly attached?: string;
  /** Names whose value may be the next word. */
  readonly long?: readonly string[];
}

export interface Option {
  /** `-x` or `--name`. */
  readonly name: string;
  readonly value: Value | null;
}

interface Options {
  readonly options: readonly Option[];
  /** The words after the options. */
  readonly rest: readonly Value[];
}

export function readOptions(args: readonly Value[], names: OptionNames): Options {
  const options: Option[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i];
    if (arg === undefined || !/^-./.test(arg.text)) return { options, rest: args.slice(i) };
    if (arg.known && arg.text === "--") return { options, rest: args.slice(i + 1) };
    const last = arg.text.startsWith("--") ? long(arg, names, options) : letters(arg, names, options);
    if (last === null) continue;
    i += 1;
    options.push({ name: last, value: args[i] ?? null });
  }
  return { options, rest: [] };
}

/** Reads a long option; returns its name if the next word is its value, else null. */
function long(arg: Value, names: OptionNames, options: Option[]): string | null {
  const equals = arg.whole.indexOf("=");
  const name = equals === -1 ? arg.whole : arg.whole.slice(0, equals);
  if (equals === -1 && names.long?.includes(name)) return name;
  options.push({ name, value: equals === -1 ? null : asValue(arg.whole.slice(equals + 1)) });
  return null;
}

function letters(arg: Value, { short, attached = "" }: OptionNames, options: Option[]): string | null {
  for (let i = 1; i < arg.whole.length; i += 1) {
    const letter = arg.whole.charAt(i);
    const rest = arg.whole.slice(i + 1);
    if (short.includes(letter) && rest === "") return `-${letter}`;
    if ((short + attached).includes(letter)) {
      options.push({ name: `-${letter}`, value: rest === "" ? null : asValue(rest) });
      return null;
    }
    options.push({ name: `-${letter}`, value: null });
  }
  return null;
}

// What the shell's own commands do to its state.

/** Returns null if nothing comes after the command. Leaving a function or a loop is not handled here. */
export function builtin(name: string | null, args: readonly Value[], state: State): State | null {
  switch (name) {
    case "exit":
      return null;
    case "cd":
    case "chdir":
      return moved(args, state);
    case "pushd":
      return pushed(args, state);
    case "popd":
      return { ...left(state), dir: state.stack[0] ?? null, stack: state.stack.slice(1) };
    case "export":
    case "declare":
    case "typeset":
    case "readonly":
    case "local":
      return declared(name, args, state);
    case "unset":
      return args.reduce((now, { text }) => (isName(text) ? unset(now, text) : now), state);
    case "read":
      return taken(args, state);
    case "mapfile":
    case "readarray":
      return listed(args, state);
    case "set":
      return reset(args, state);
    case "shift":
      return { ...state, args: state.args?.slice(Number(args[0]?.text ?? 1)) ?? null };
    case "alias":
      return aliased(args, state);
    case "unalias":
      return args.some(({ text }) => text === "-a")
        ? { ...state, aliases: new Map() }
        : { ...state, aliases: args.reduce((all, { text }) => without(all, text), state.aliases) };
    default:
      return state;
  }
}

/** Without a word it goes to the home directory. */
function moved(args: readonly Value[], state: State): State {
  const to = args.find(({ text }) => !/^-[LPe@-]/.test(text)) ?? asValue(state.variables.get("HOME") ?? hole);
  if (to.known && to.text === "-") return { ...left(state), dir: state.before };
  // Any of several `cd`s in a row may fail, so the directory in which the first one began counts.
  return { ...left(state), ...enter(state, to), stays: state.stays ?? whereOf(state) };
}

/** The previous directory is known if the present one is. */
function left(state: State): State {
  return { ...state, before: whereOf(state), isBelow: false };
}

function whereOf({ dir, isBelow }: State): string | null {
  return isBelow ? null : dir;
}

/** Without a directory, or with a number, it turns the stack. */
function pushed(args: readonly Value[], state: State): State {
  const [to] = args;
  if (to === undefined || /^[+-]/.test(to.text)) return { ...left(state), dir: null, stack: [] };
  return { ...moved(args, state), stack: [whereOf(state), ...state.stack].slice(0, limits.shellDepthMax) };
}

function declared(name: string, args: readonly Value[], state: State): State {
  const isExport = name === "export" || args.some(({ text }) => /^-\w*x/.test(text));
  return args.reduce((now, { whole }) => {
    const [, variable, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(whole) ?? [];
    if (variable === undefined) return now;
    const newValue = value ?? now.variables.get(variable) ?? hole;
    return isExport ? exportTo(now, variable, newValue) : assign(now, variable, newValue);
  }, state);
}

const reading = { short: "adeinNptu" };

/** Splits the next line into the named variables. */
function taken(args: readonly Value[], state: State): State {
  const { options, rest } = readOptions(args, reading);
  const names = rest.filter(({ text }) => isName(text)).map(({ text }) => text);
  const { input } = state;
  const isPlain = options.every(({ name }) => /^-[rsp]$/.test(name));
  if (input === null || !isPlain || input.includes(hole)) {
    return names.reduce<State>((now, name) => assign(now, name, hole), { ...state, input: null });
  }
  const [line = ""] = input.split("\n", 1);
  const next: State = { ...state, input: input.slice(line.length + 1) };
  if (line.includes("\\")) return names.reduce((now, name) => assign(now, name, hole), next);
  const words = line.trim();
  if (names.length <= 1) return assign(next, names[0] ?? "REPLY", words);
  const parts = words.split(/[ \t]+/);
  return names.reduce(
    (now, name, i) => assign(now, name, i < names.length - 1 ? (parts[i] ?? "") : parts.slice(i).join(" ")),
    next,
  );
}

/** Each line becomes an element, without its end if `-t` says so. */
function listed(args: readonly Value[], state: State): State {
  const { options, rest } = readOptions(args, { short: "dnOsuCc" });
  const name = rest[0]?.text ?? "MAPFILE";
  const { input } = state;
  const isPlain = options.length === 1 && options[0]?.name === "-t";
  const lines = input === null || !isPlain ? [hole] : input.replace(/\n$/, "").split("\n");
  return { ...state, lists: withNamed(state.lists, name, boundedList(lines)) };
}

/** `set -- a b` sets the shell's arguments anew. */
function reset(args: readonly Value[], state: State): State {
  const at = args.findIndex(({ whole }) => whole === "--");
  const [first] = args;
  if (at === -1 && (first === undefined || /^[-+]/.test(first.text))) return state;
  return { ...state, args: boundedArgs(args.slice(at + 1).map(({ whole }) => whole)) };
}

function aliased(args: readonly Value[], state: State): State {
  let { aliases } = state;
  for (const { whole } of args) {
    const [, name, text] = /^([^=\0]+)=(.*)$/s.exec(whole) ?? [];
    if (name !== undefined && text !== undefined) aliases = withNamed(aliases, name, text);
  }
  return { ...state, aliases };
}

function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text);
}
