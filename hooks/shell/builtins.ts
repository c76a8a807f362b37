/** What the shell's own commands do to its state. */
import { limits } from "../../protocol/limits.ts";
import { readOptions } from "./options.ts";
import {
  assign,
  asValue,
  boundedArgs,
  boundedList,
  enter,
  exportTo,
  hole,
  type State,
  unset,
  type Value,
  withNamed,
  without,
} from "./variables.ts";

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
    const given = value ?? now.variables.get(variable) ?? hole;
    return isExport ? exportTo(now, variable, given) : assign(now, variable, given);
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
