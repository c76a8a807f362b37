/** A simple command: its words, and what the program that they name runs. */

import { single } from "./expand.ts";
import { behind, launched, programOf, type Run, scriptOf, unwrapped } from "./launchers.ts";
import { outputOf } from "./output.ts";
import { type Assignment, type Node, readShell, type Word } from "./parser.ts";
import {
  assign,
  begun,
  boundedArgs,
  boundedList,
  builtin,
  enter,
  exportTo,
  hole,
  type State,
  startIn,
  type Value,
  withNamed,
  without,
} from "./variables.ts";
import { type Budget, type Invocation, Walk, type Written, wholeBudget } from "./walk.ts";

type Simple = Extract<Node, { kind: "simple" }>;

function runSimple(walk: Walk, node: Simple, state: State): State | null {
  const aliased = expandedAlias(walk, node, state);
  if (aliased !== null) {
    const { name, node: inner } = aliased;
    const after = walk.deeper(() => walk.step(inner, { ...state, aliases: without(state.aliases, name) }));
    return after === null ? null : { ...after, aliases: state.aliases };
  }
  for (const aside of node.asides) walk.settled(aside, state);
  walk.writeTo(node, state)(null);
  const assignments = node.assignments.map(each => [each, valuesOf(walk, each, state)] as const);
  const values = walk.words(node.words, state);
  if (values.length === 0) return assignments.reduce((now, [each, list]) => assigned(now, each, list), state);
  const withExports = assignments.reduce(
    (now, [{ name }, list]) => exportTo(now, name, list.join(" ")),
    state,
  );
  const [first] = values;
  const body = first?.known ? state.functions.get(first.text) : undefined;
  if (body === undefined) return perform(walk, values, withExports, state);
  const args = boundedArgs(values.slice(1).map(({ whole }) => whole));
  const after = walk.framed("call", () => called(walk, body, { ...state, args }));
  return { ...after, args: state.args };
}

/** The texts of an assignment: one, or those of a list. */
function valuesOf(walk: Walk, each: Assignment, state: State): readonly string[] {
  if (each.kind === "list") return walk.words(each.value, state).map(({ whole }) => whole);
  if (each.value === null) return [hole];
  const { whole } = single(walk.settled(each.value, state), state);
  return [walk.charge(whole.length) ? whole : hole];
}

function assigned(state: State, { kind, name, adds }: Assignment, values: readonly string[]): State {
  if (kind === "list") {
    const before = adds ? (state.lists.get(name) ?? [hole]) : [];
    return { ...state, lists: withNamed(state.lists, name, boundedList([...before, ...values])) };
  }
  const before = adds ? (state.variables.get(name) ?? hole) : "";
  return assign(state, name, before + (values[0] ?? ""));
}

/** Replaces an alias by its text; the words after it follow that text. */
function expandedAlias(walk: Walk, node: Simple, state: State): { name: string; node: Node } | null {
  const [word, ...rest] = node.words;
  const [part] = word ?? [];
  if (state.aliases.size === 0 || word?.length !== 1 || part?.kind !== "text" || part.quoted) return null;
  const text = state.aliases.get(part.text);
  if (text === undefined) return null;
  return { name: part.text, node: followed(read(walk, text), rest, node) };
}

function followed(node: Node, rest: readonly Word[], by: Simple): Node {
  const inner = node.kind === "sequence" && node.nodes.length === 1 ? node.nodes[0] : undefined;
  if (inner?.kind !== "simple") return node;
  return {
    ...inner,
    assignments: [...by.assignments, ...inner.assignments],
    words: [...inner.words, ...rest],
    asides: [...inner.asides, ...by.asides],
    outputs: [...inner.outputs, ...by.outputs],
  };
}

/** A program with its words. `state` is the program's own, `outer` that of the shell which starts it. */
function perform(walk: Walk, values: readonly Value[], state: State, outer: State): State | null {
  const inner = unwrapped(values, state);
  if (inner === null) return walk.stop();
  if (inner.values.length === 0) {
    if (inner.own !== undefined) walk.run(invocationOf(inner, inner.own));
    walk.write(outputOf(programOf(values), values.slice(1), state));
    return outer;
  }
  walk.run(invocationOf(inner, inner.values));
  const after = carriedOn(walk, inner, outer);
  return values[0]?.text === "exec" ? null : after;
}

function invocationOf({ state, via = [] }: Run, values: readonly Value[]): Invocation {
  const { dir, isBelow, stays = null, exported, input } = state;
  return { values, dir, isBelow, stays, exported, input, ...(via.length === 0 ? {} : { via }) };
}

/** Follows a program that starts others, is a shell, or is one of the shell's own commands. */
function carriedOn(walk: Walk, { values, state }: Run, outer: State): State | null {
  const name = programOf(values);
  const args = values.slice(1);
  const starts = launched(name, args, state.input, file => walk.textOf(file, state));
  if (starts !== null) {
    const places = starts.below?.map(folder => enter(state, folder));
    for (const { dir } of places ?? [state]) {
      const isBelow = places !== undefined || state.isBelow;
      for (const command of starts.commands) launch(walk, command, { ...state, dir, isBelow });
    }
    if (starts.commands.length === 0) walk.write(hole);
    return outer;
  }
  const script = scriptOf(name, args, state.input);
  if (script !== null) {
    const text = script.text ?? (script.file === null ? null : walk.textOf(script.file, state));
    // A shell that reads its line from the input cannot read that input again.
    const input = script.text === null || script.text === state.input ? null : state.input;
    if (text === null) walk.write(hole);
    else {
      const shellState = name === "su" ? exportTo(state, "HOME", hole) : state;
      const inner = begun({ ...shellState, input }, script.args, script.zero);
      walk.framed("shell", () => called(walk, read(walk, text), inner));
    }
    return outer;
  }
  if (name === "trap") {
    const [text] = args;
    // The trap runs at the end, or on a signal.
    if (text !== undefined && args.length > 1)
      walk.unheard(() => called(walk, read(walk, text.whole), outer));
    return outer;
  }
  const line = lineOf(walk, name, args, state);
  if (line === undefined) {
    guess(walk, name, args, state);
    if (/^(?:return|break|continue)$/.test(name ?? "")) return walk.leadsOut(name) ? null : outer;
    walk.write(outputOf(name, args, state));
    return builtin(name, args, outer);
  }
  const go = () => (line === null ? outer : called(walk, read(walk, line), outer));
  const after = name === "eval" ? go() : walk.framed("call", go);
  if (line === null) walk.write(hole);
  return line === null || line.includes(hole) ? forgotten(after) : after;
}

/** An unknown program may run the command in its words. It may also not exist. */
function guess(walk: Walk, name: string | null, args: readonly Value[], state: State): void {
  const { command, lines } = behind(name, args);
  const { dir, isBelow, stays = null, exported, input } = state;
  if (programOf(command ?? []) === "git") {
    walk.run({ values: command ?? [], dir, isBelow, stays, exported, input, isGuess: true });
  } else if (command !== null) walk.unheard(() => launch(walk, command, state));
  for (const { whole } of lines) {
    const inner = begun({ ...state, input: null }, null, hole);
    walk.unheard(() => walk.framed("shell", () => called(walk, read(walk, whole), inner)));
  }
}

/** The line that the shell itself runs next; null: not known; undefined: none. */
function lineOf(walk: Walk, name: string | null, args: readonly Value[], state: State) {
  if (name === "eval") return args.map(({ whole }) => whole).join(" ");
  const [first] = args;
  if (name !== "source" && name !== ".") return undefined;
  return first === undefined ? null : walk.textOf(first, state);
}

/** What was run may have set any variable. */
function forgotten(state: State): State {
  return [...state.variables.keys()].reduce((now, name) => assign(now, name, hole), state);
}

/** A command that a program starts: aliases and builtins of the shell do not apply to it. */
function launch(walk: Walk, command: readonly Value[], state: State): void {
  const inside = begun({ ...state, input: null }, null, hole);
  if (walk.goesOn()) walk.framed("shell", () => walk.deeper(() => perform(walk, command, inside, inside)));
  else walk.stop();
}

function read(walk: Walk, text: string): Node {
  if (!walk.charge(text.length)) return { kind: "sequence", nodes: [] };
  const { node, unread } = readShell(text);
  walk.unread ??= unread;
  return node;
}

/** After a return from a function the shell goes on behind the call. */
function called(walk: Walk, body: Node, state: State): State {
  return walk.deeper(() => walk.step(body, state)) ?? state;
}

// Goes through a whole shell line.

/**
 * Calls `run` with every program of the line, in order. The line begins in `dir`; null: not known. `args` are `$1` and
 * so on if they are known. `env` are the known variables of the shell. `wrote` hears of the files that redirections
 * write. Returns why a part of the line was not followed, or null.
 */
export function walkShell(
  node: Node,
  dir: string | null,
  run: (invocation: Invocation) => void,
  args: readonly string[] | null = null,
  budget: Budget = wholeBudget(),
  env: ReadonlyMap<string, string> = new Map(),
  wrote: (written: Written) => void = () => undefined,
): string | null {
  const walk = new Walk(run, wrote, runSimple, budget);
  walk.step(node, { ...startIn(dir, env), args });
  return walk.unread;
}
