/**
 * Goes through a shell line as the shell would, and reports which programs run where, with which words.
 *
 * Of two branches both are followed. A command counts as successful if the next one depends on that. The output of
 * commands is followed, too, as far as their words tell: into `$(...)`, through pipes, to `xargs` and to shells.
 */

import { limits } from "../../protocol/limits.ts";
import { expand, single } from "./expand.ts";
import { sourceOf } from "./output.ts";
import type { Node, Part, Word } from "./parser.ts";
import {
  assign,
  asValue,
  bounded,
  either,
  hole,
  type State,
  type Value,
  type Where,
  withNamed,
} from "./variables.ts";

// How much of a line is followed.

/** The steps and characters that are left for a line and for its aliases. */
export interface Budget {
  steps: number;
  chars: number;
}

export function wholeBudget(): Budget {
  return { steps: limits.shellStepsMax, chars: limits.shellTextChars };
}

/** One program that the line may run; `values` begins with its name. */
export interface Invocation extends Where {
  readonly values: readonly Value[];
  readonly exported: ReadonlyMap<string, string>;
  /** The text on its standard input, with holes; null: not known. */
  readonly input: string | null;
  /** The programs that run it, such as `env` and `setsid`, the outermost first. */
  readonly via?: readonly string[];
  /** The call stands among the words of an unknown program, and may be only words. */
  readonly isGuess?: true;
  /** The call stands for any number of rounds of a loop. */
  readonly isRepeated?: true;
}

/** The functions and loops that a command can leave. */
interface Frame {
  /** The number of functions and sourced texts. */
  readonly calls: number;
  readonly loops: number;
}

/** The output while a caller collects it. */
interface Sink {
  text: string;
}

type Simple = Extract<Node, { kind: "simple" }>;

/** A file that a redirection writes, and where its name counts. */
export interface Written extends Where {
  readonly file: Value;
  /** What was in it is gone. */
  readonly empties: boolean;
  /** The text that is written, with holes, or the one of which it may be made; null: not known. */
  readonly text: string | null;
}

/** Follows a simple command. */
type SimpleRunner = (walk: Walk, node: Simple, state: State) => State | null;

export class Walk {
  #run: (invocation: Invocation) => void;
  #wrote: (written: Written) => void;
  readonly #simple: SimpleRunner;
  readonly #budget: Budget;
  readonly #texts: string[] = [];
  #sink: Sink | null = null;
  #depth = 0;
  #frame: Frame = { calls: 0, loops: 0 };
  unread: string | null = null;

  constructor(
    run: (invocation: Invocation) => void,
    wrote: (written: Written) => void,
    simple: SimpleRunner,
    budget: Budget,
  ) {
    this.#run = run;
    this.#wrote = wrote;
    this.#simple = simple;
    this.#budget = budget;
  }

  run(invocation: Invocation): void {
    this.#run(invocation);
  }

  /** Takes one step from the budget; returns whether it was left. */
  goesOn(): boolean {
    this.#budget.steps -= 1;
    return this.#budget.steps >= 0 && this.#depth <= limits.shellDepthMax;
  }

  /** The state after a node; null if nothing comes after it. */
  step(node: Node, state: State): State | null {
    if (!this.goesOn()) return this.stop();
    switch (node.kind) {
      case "simple":
        return this.#simple(this, node, state);
      case "redirected":
        return redirected(this, node, state);
      case "sequence":
        return sequence(this, node.nodes, state);
      case "pipe":
        return pipe(this, node.nodes, state);
      case "chain":
        return chain(this, node, state);
      case "apart":
        this.step(node.node, state);
        return state;
      case "if":
        return this.maybe(() => branches(this, node, state));
      case "case":
        return this.maybe(() =>
          node.arms.reduce((all: State | null, arm) => either(all, this.step(arm, state)), state),
        );
      case "loop":
        return this.framed("loop", () => loop(this, node, state));
      case "function":
        return { ...state, functions: withNamed(state.functions, node.name, node.body) };
    }
  }

  stop(): null {
    this.unread ??= "it does too much to be followed";
    return null;
  }

  /** Counts text that was made or is to be read, since words in loops could grow. Returns whether it is in bounds. */
  charge(chars: number): boolean {
    this.#budget.chars -= chars;
    if (this.#budget.chars >= 0) return true;
    this.stop();
    // Every further step ends at once.
    this.#budget.steps = 0;
    return false;
  }

  /** Whether `return` or `break` leaves something; if not, the shell goes on after it. */
  leadsOut(name: string | null): boolean {
    const { calls, loops } = this.#frame;
    return name === "return" ? calls > 0 : loops > 0;
  }

  /** Runs `go` in a function, in a loop, or in a shell of its own, which neither word leaves. */
  framed<T>(kind: "call" | "loop" | "shell", go: () => T): T {
    const outer = this.#frame;
    const { calls, loops } = outer;
    if (kind === "loop") this.#frame = { calls, loops: loops + 1 };
    else this.#frame = { calls: kind === "call" ? calls + 1 : 0, loops: 0 };
    const result = go();
    this.#frame = outer;
    return result;
  }

  deeper<T>(go: () => T): T {
    this.#depth += 1;
    const result = go();
    this.#depth -= 1;
    return result;
  }

  /** The files that redirections write; returns what reports them, once it is known what is written. */
  writeTo({ outputs }: Pick<Simple, "outputs">, state: State): (text: string | null) => void {
    const { dir, isBelow, stays = null } = state;
    const files = outputs.map(({ file, empties }) => ({
      file: single(this.settled(file, state), state),
      empties,
    }));
    return text => {
      for (const file of files) this.#wrote({ ...file, text, dir, isBelow, stays });
    };
  }

  write(text: string): void {
    if (this.#sink !== null) this.#sink.text = bounded(this.#sink.text + text);
  }

  /** Returns the output of `go`. */
  outputOf(go: () => unknown): string {
    return this.hearing(go).text;
  }

  /** Returns what `go` returns, and its output. */
  hearing<T>(go: () => T): { readonly after: T; readonly text: string } {
    const outer = this.#sink;
    const sink: Sink = { text: "" };
    this.#sink = sink;
    const after = go();
    this.#sink = outer;
    this.charge(sink.text.length);
    return { after, text: sink.text };
  }

  /** Runs `go` and drops its output. */
  unheard<T>(go: () => T): T {
    const outer = this.#sink;
    this.#sink = null;
    const result = go();
    this.#sink = outer;
    return result;
  }

  /** Runs `go`, whose output may or may not be written. */
  maybe<T>(go: () => T): T {
    const before = this.#sink?.text;
    const result = go();
    if (this.#sink !== null && this.#sink.text !== before) this.#sink.text = hole;
    return result;
  }

  /** Runs `go` only for the state that it leaves. */
  silently<T>(go: () => T): T {
    const [run, wrote] = [this.#run, this.#wrote];
    this.#run = () => undefined;
    this.#wrote = () => undefined;
    const result = this.unheard(go);
    this.#run = run;
    this.#wrote = wrote;
    return result;
  }

  /** Runs `go`, which stands for any number of rounds. */
  repeated<T>(go: () => T): T {
    const run = this.#run;
    this.#run = invocation => run({ ...invocation, isRepeated: true });
    const result = go();
    this.#run = run;
    return result;
  }

  /** The word after its commands have run: they run apart, before the word is used. */
  settled(word: Word, state: State): Word {
    return word.map(part => this.#settledPart(part, state));
  }

  #settledPart(part: Part, state: State): Part {
    if (part.kind === "output") {
      const text = this.outputOf(() => this.step(part.node, state)).replace(/\n+$/, "");
      return { kind: "value", text, quoted: part.quoted };
    }
    if (part.kind === "file") {
      // Its name is not known: a number between holes tells which text it is.
      const text = this.outputOf(() => this.step(part.node, { ...state, input: null }));
      return { kind: "value", text: `${hole}${this.#texts.push(text) - 1}${hole}`, quoted: true };
    }
    if (part.kind === "default") return { ...part, word: this.settled(part.word, state) };
    if (part.kind === "opaque") for (const node of part.commands) this.unheard(() => this.step(node, state));
    return part;
  }

  /** The content of a file that a word of the line names; null if the line does not tell. */
  textOf({ whole }: Value, { input }: State): string | null {
    if (/^\/dev\/(?:stdin|fd\/0)$|^\/proc\/self\/fd\/0$/.test(whole)) return input;
    const [, number] = whole.startsWith(hole) ? (/^.(\d+).$/s.exec(whole) ?? []) : [];
    return number === undefined ? null : (this.#texts[Number(number)] ?? null);
  }

  /** The words of a command or a list, after the commands in them have run. */
  words(words: readonly Word[], state: State): readonly Value[] {
    const values = words.flatMap(word => expand(this.settled(word, state), state));
    return this.charge(values.reduce((sum, { whole }) => sum + whole.length + 1, 0)) ? values : [];
  }
}

type Kind<K extends Node["kind"]> = Extract<Node, { kind: K }>;

function sequence(walk: Walk, nodes: readonly Node[], state: State): State | null {
  let now: State | null = state;
  for (const node of nodes) {
    if (now === null) return null;
    now = walk.step(node, now);
  }
  return now;
}

function pipe(walk: Walk, nodes: readonly Node[], state: State): State {
  let { input } = state;
  for (const [i, node] of nodes.entries()) {
    const stage = { ...state, input };
    if (i === nodes.length - 1) walk.step(node, stage);
    else input = walk.outputOf(() => walk.step(node, stage));
  }
  return state;
}

function redirected(walk: Walk, node: Kind<"redirected">, state: State): State | null {
  const texts = new Map(
    node.documents.map(document => [document, single(walk.settled(document.word, state), state).whole]),
  );
  for (const aside of node.asides) walk.settled(aside, state);
  const report = walk.writeTo(node, state);
  let { input } = state;
  if (node.input !== null && "document" in node.input) input = texts.get(node.input.document) ?? null;
  else if (node.input !== null) {
    input = walk.textOf(single(walk.settled(node.input.from, state), state), state);
  }
  const go = () => walk.step(node.node, { ...state, input });
  const { after, text } = node.isWritten ? walk.hearing(go) : { after: go(), text: null };
  // What is written is often made of what is read.
  report(sourceOf(text) === null ? input : text);
  return after === null ? null : { ...after, input: state.input };
}

function chain(walk: Walk, { first, rest }: Kind<"chain">, state: State): State | null {
  let failed: State = state;
  let now = walk.step(first, state);
  for (const { when, node } of rest) {
    if (when === "&&") {
      const before: State | null = now;
      if (now === null) continue;
      failed = now;
      // An `exit` here runs only if the command before it succeeded; if that failed, the line goes on.
      now = walk.step(node, { ...now, stays: state.stays ?? null }) ?? before;
    } else {
      const from = failed;
      const other = walk.maybe(() => walk.step(node, from));
      now = either(now, other);
    }
  }
  // The commands after the chain run even if a part of it failed.
  const isMoved = now !== null && now.dir !== state.dir && !state.isBelow;
  return now !== null && isMoved ? { ...now, stays: state.stays ?? state.dir } : now;
}

function branches(walk: Walk, { arms, otherwise }: Kind<"if">, state: State): State | null {
  let afterTest: State | null = state;
  let after: State | null = null;
  for (const { condition, body } of arms) {
    afterTest = afterTest === null ? null : walk.step(condition, afterTest);
    if (afterTest !== null) after = either(after, walk.step(body, afterTest));
  }
  if (afterTest === null) return after;
  return either(after, otherwise === null ? afterTest : walk.step(otherwise, afterTest));
}

/** One round for each known word. Else one round stands for all, in a state in which any of them may begin. */
function loop(walk: Walk, node: Kind<"loop">, state: State): State | null {
  const { variable, condition, body } = node;
  const values = node.words === null ? listOf(node, state) : walk.words(node.words, state);
  const isListed = values?.every(({ known, text }) => known && !/[*?[]/.test(text)) ?? false;
  if (variable !== null && values !== null && isListed && values.length <= limits.shellRoundsMax) {
    let now = state;
    for (const { text } of values) now = walk.step(body, assign(now, variable, text)) ?? now;
    return now;
  }
  if (condition !== null && isReading(condition)) {
    const after = lineByLine(walk, condition, body, state);
    if (after !== null) return after;
  }
  const round = (from: State): State => {
    const afterTest = condition === null ? from : walk.step(condition, from);
    return afterTest === null ? from : (walk.step(body, afterTest) ?? afterTest);
  };
  const begin = variable === null ? state : assign(state, variable, hole);
  const twice = either(
    begin,
    walk.silently(() => round(begin)),
  );
  return walk.maybe(() =>
    either(
      state,
      walk.repeated(() => round(twice ?? begin)),
    ),
  );
}

/** A `for` without words goes over the arguments. */
function listOf({ variable }: Kind<"loop">, { args }: State): readonly Value[] | null {
  return variable === null || args === null ? null : args.map(asValue);
}

/** Whether it is `while read LINE`. */
function isReading(condition: Node): boolean {
  const only = condition.kind === "sequence" && condition.nodes.length === 1 ? condition.nodes[0] : condition;
  const [first] = only?.kind === "simple" ? (only.words[0] ?? []) : [];
  return first?.kind === "text" && first.text === "read";
}

/** One round for each line of the input; null if the input is not known or has too many lines. */
function lineByLine(walk: Walk, condition: Node, body: Node, state: State): State | null {
  const { input } = state;
  if (input === null || input.includes(hole)) return null;
  if (input.split("\n").length > limits.shellRoundsMax + 1) return null;
  let now = state;
  while (now.input !== null && now.input !== "") {
    const before: string = now.input;
    const afterTest = walk.step(condition, now);
    if (afterTest === null || afterTest.input === before) return now;
    now = walk.step(body, afterTest) ?? afterTest;
    // The body's own reading of the input is not followed.
    if (now.input !== afterTest.input) now = { ...now, input: afterTest.input };
  }
  return now;
}
