/** Goes through a shell line as the shell would, and tells which programs run where, with which words. */
import { limits } from "../../protocol/limits.ts";
import { readShell } from "./shell-commands.ts";
import {
  assign,
  directory,
  either,
  expand,
  exportTo,
  type State,
  single,
  startIn,
  unknown,
  type Value,
} from "./shell-state.ts";
import type { Node, Word } from "./shell-tree.ts";
import { programOf, unwrapped } from "./shell-wrappers.ts";

/** One program that the line may run; `values` begins with its name. */
export interface Invocation {
  readonly values: readonly Value[];
  readonly dir: string | null;
  readonly exported: ReadonlyMap<string, string | null>;
}

interface Walk {
  run: (invocation: Invocation) => void;
  steps: number;
  depth: number;
  unread: string | null;
}

/**
 * Hands every program of the line to `run`, in order. Of what goes either way both ways are gone; a command is taken
 * to succeed where the next one depends on it. Returns why not all of it was gone through, or null.
 */
export function walkShell(node: Node, dir: string, run: (invocation: Invocation) => void): string | null {
  const walk: Walk = { run, steps: 0, depth: 0, unread: null };
  step(walk, node, startIn(dir));
  return walk.unread;
}

/** The state after a node; null where nothing comes after it. */
function step(walk: Walk, node: Node, state: State): State | null {
  walk.steps += 1;
  if (walk.steps > limits.shellStepsMax || walk.depth > limits.shellDepthMax) {
    walk.unread ??= "it does too much to be followed";
    return null;
  }
  switch (node.kind) {
    case "simple":
      return simple(walk, node, state);
    case "sequence":
      return sequence(walk, node.nodes, state);
    case "chain":
      return chain(walk, node, state);
    case "apart":
      step(walk, node.node, state);
      return state;
    case "if":
      return branches(walk, node, state);
    case "case":
      return node.arms.reduce((all: State | null, arm) => either(all, step(walk, arm, state)), state);
    case "loop":
      return loop(walk, node, state);
    case "function":
      return state.functions.size >= limits.shellNamesMax
        ? state
        : { ...state, functions: new Map(state.functions).set(node.name, node.body) };
  }
}

type Kind<K extends Node["kind"]> = Extract<Node, { kind: K }>;

function sequence(walk: Walk, nodes: readonly Node[], state: State): State | null {
  let now: State | null = state;
  for (const node of nodes) {
    if (now === null) return null;
    now = step(walk, node, now);
  }
  return now;
}

function chain(walk: Walk, { first, rest }: Kind<"chain">, state: State): State | null {
  let failed: State = state;
  let now = step(walk, first, state);
  for (const { when, node } of rest) {
    if (when === "&&") {
      const before = now;
      if (now === null) continue;
      failed = now;
      // Who leaves only if the one before succeeded may as well go on.
      now = step(walk, node, now) ?? before;
    } else now = either(now, step(walk, node, failed));
  }
  return now;
}

function branches(walk: Walk, { arms, otherwise }: Kind<"if">, state: State): State | null {
  let asked: State | null = state;
  let after: State | null = null;
  for (const { condition, body } of arms) {
    asked = asked === null ? null : step(walk, condition, asked);
    if (asked !== null) after = either(after, step(walk, body, asked));
  }
  if (asked === null) return after;
  return either(after, otherwise === null ? asked : step(walk, otherwise, asked));
}

/** With words that are known, one round for each; else one for all of them, from where any of them may begin. */
function loop(walk: Walk, node: Kind<"loop">, state: State): State | null {
  const { variable, condition, body } = node;
  inside(walk, node.words ?? [], state);
  const values = node.words?.flatMap(word => expand(word, state)) ?? [unknown];
  const isListed = variable !== null && values.every(({ known, text }) => known && !/[*?[]/.test(text));
  if (isListed && values.length <= limits.shellRoundsMax) {
    let now = state;
    for (const { text } of values) now = step(walk, body, assign(now, variable, text)) ?? now;
    return now;
  }
  const round = (from: State): State => {
    const asked = condition === null ? from : step(walk, condition, from);
    return asked === null ? from : (step(walk, body, asked) ?? asked);
  };
  const begin = variable === null ? state : assign(state, variable, null);
  return either(
    state,
    round(
      either(
        begin,
        silently(walk, () => round(begin)),
      ) ?? begin,
    ),
  );
}

/** Goes through something only for the state it leaves. */
function silently<T>(walk: Walk, look: () => T): T {
  const { run } = walk;
  walk.run = () => undefined;
  const result = look();
  walk.run = run;
  return result;
}

/** The commands inside words run apart, before the words are used. */
function inside(walk: Walk, words: readonly Word[], state: State): void {
  for (const part of words.flat()) {
    if (part.kind === "opaque") for (const node of part.commands) step(walk, node, state);
  }
}

function simple(walk: Walk, node: Kind<"simple">, state: State): State | null {
  const { assignments, words, asides } = node;
  inside(walk, [...asides, ...words], state);
  const assigned = assignments.map(({ name, value }) => {
    const given = value === null ? unknown : single(value, state);
    return [name, given.known ? given.text : null] as const;
  });
  const values = words.flatMap(word => expand(word, state));
  if (values.length === 0) {
    return assigned.reduce((now, [name, value]) => assign(now, name, value), state);
  }
  const told = assigned.reduce((now, [name, value]) => exportTo(now, name, value), state);
  const [first] = values;
  const body = first?.known ? state.functions.get(first.text) : undefined;
  if (body !== undefined) return called(walk, body, state);
  const inner = unwrapped(values, told);
  if (inner.values.length === 0) return state;
  walk.run({ values: inner.values, dir: inner.state.dir, exported: inner.state.exported });
  const name = programOf(inner.values);
  const args = inner.values.slice(1);
  const text = name === null ? null : shellText(name, args);
  const after =
    text === null ? null : called(walk, read(walk, text), name === "eval" ? state : begun(inner.state));
  if (first?.text === "exec") return null;
  return name === "eval" && after !== null ? after : builtin(name, args, state);
}

/** What another shell knows when it begins: of variables, those that programs get. */
function begun(state: State): State {
  return { ...state, variables: state.exported, functions: new Map(), stack: [], before: null };
}

/** A line within the line, for `eval` or another shell; null where there is none, or the shell alone knows it. */
function shellText(name: string, args: readonly Value[]): string | null {
  if (name === "eval") {
    return args.every(({ known }) => known) ? args.map(({ text }) => text).join(" ") : null;
  }
  if (!/^(?:ba|da|z|k|a)?sh$/.test(name)) return null;
  const at = args.findIndex(({ text }) => /^-\w*c$/.test(text));
  const line = args.slice(0, at).every(({ text }) => /^[-+]/.test(text)) ? args[at + 1] : undefined;
  return at !== -1 && line?.known ? line.text : null;
}

function read(walk: Walk, text: string): Node {
  const { node, unread } = readShell(text);
  walk.unread ??= unread;
  return node;
}

function called(walk: Walk, body: Node, state: State): State | null {
  walk.depth += 1;
  const after = step(walk, body, state);
  walk.depth -= 1;
  // Who returns from a function goes on behind it.
  return after ?? state;
}

/** What a command of the shell itself does to its state. */
function builtin(name: string | null, args: readonly Value[], state: State): State | null {
  switch (name) {
    case "exit":
    case "return":
    case "break":
    case "continue":
      return null;
    case "cd":
    case "chdir":
      return moved(args, state);
    case "pushd":
      return pushed(args, state);
    case "popd":
      return { ...state, dir: state.stack[0] ?? null, before: state.dir, stack: state.stack.slice(1) };
    case "export":
    case "declare":
    case "typeset":
    case "readonly":
    case "local":
      return declared(name, args, state);
    case "unset":
    case "read":
      return args.reduce((now, { text }) => (isName(text) ? forgotten(name, text, now) : now), state);
    case "eval":
    case "source":
    case ".":
      return [...state.variables.keys()].reduce((now, variable) => assign(now, variable, null), state);
    default:
      return state;
  }
}

function moved(args: readonly Value[], state: State): State {
  const to = args.find(({ text }) => !/^-[LPe@-]/.test(text));
  const dir = to?.known && to.text === "-" ? state.before : directory(state.dir, to ?? unknown);
  return { ...state, dir, before: state.dir };
}

/** Without a directory, or by number, it goes around in what is on the stack. */
function pushed(args: readonly Value[], state: State): State {
  const [to] = args;
  if (to === undefined || /^[+-]/.test(to.text)) return { ...state, dir: null, before: state.dir, stack: [] };
  return { ...moved(args, state), stack: [state.dir, ...state.stack] };
}

function declared(name: string, args: readonly Value[], state: State): State {
  const isExport = name === "export" || args.some(({ text }) => /^-\w*x/.test(text));
  return args.reduce((now, { text, known }) => {
    const [, variable, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? [];
    if (variable === undefined) return now;
    const old = now.variables.get(variable) ?? null;
    const given = value === undefined ? old : known ? value : null;
    return isExport ? exportTo(now, variable, given) : assign(now, variable, given);
  }, state);
}

function forgotten(by: "unset" | "read", name: string, state: State): State {
  if (by === "read") return assign(state, name, null);
  const left = (all: ReadonlyMap<string, string | null>) => new Map([...all].filter(([key]) => key !== name));
  return { ...state, variables: left(state.variables), exported: left(state.exported) };
}

function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text);
}
