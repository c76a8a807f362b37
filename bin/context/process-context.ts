/** The parts of a process that commands use, as values. */

import { isatty } from "node:tty";
import type { ConnectOptions, KiteClient } from "../../client/client.ts";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { escaped, frame } from "../../protocol/text.ts";
import { pipeColumns, type Screen, wantsColor } from "../view/text.ts";
import { actingSession } from "./actor.ts";

// What a person presses at a terminal, a key at a time; what the person pastes is one.

/** A terminal that was told `pasteOn` puts these around what is pasted. */
const pasteBegin = "\u001b[200~";
const pasteEnd = "\u001b[201~";
export const pasteOn = "\u001b[?2004h";
export const pasteOff = "\u001b[?2004l";

/** More of what is pasted at once is left out. */
const pasteChars = 10_000;

/** Turns what a terminal sends, in pieces of any length, into keys. */
export class KeyReader {
  readonly #pressed: (key: string) => void;
  /** What came of a paste that has not ended yet; null: there is none. */
  #pasted: string | null = null;

  /** `pressed` is called with each key, and with `pasteBegin` and the text for a paste. */
  constructor(pressed: (key: string) => void) {
    this.#pressed = pressed;
  }

  take(piece: string): void {
    let rest = piece;
    while (rest !== "") rest = this.#pasted === null ? this.#keys(rest) : this.#paste(this.#pasted + rest);
  }

  /** Returns what follows the beginning of a paste. */
  #keys(text: string): string {
    const at = text.indexOf(pasteBegin);
    const before = at === -1 ? text : text.slice(0, at);
    // An arrow is one sequence.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
    for (const key of before.match(/\u001b\[[A-D]|./gsu) ?? []) this.#pressed(key);
    if (at === -1) return "";
    this.#pasted = "";
    return text.slice(at + pasteBegin.length);
  }

  /** Returns what follows the end of the paste. */
  #paste(text: string): string {
    const at = text.indexOf(pasteEnd);
    if (at === -1) {
      // The end may come in two pieces.
      const kept = text.slice(0, pasteChars);
      this.#pasted = text.length > kept.length ? kept + text.slice(-pasteEnd.length) : kept;
      return "";
    }
    this.#pasted = null;
    this.#pressed(pasteBegin + text.slice(0, Math.min(at, pasteChars)));
    return text.slice(at + pasteEnd.length);
  }
}

/** Returns the text of a key as a line has it: a paste's breaks are blanks; null: the key is no text. */
export function textOfKey(key: string): string | null {
  if (!key.startsWith(pasteBegin)) return /^[^\p{Cc}]+$/u.test(key) ? key : null;
  return key
    .slice(pasteBegin.length)
    .replaceAll(/[\r\n\t]+/g, " ")
    .replaceAll(/\p{Cc}/gu, "");
}

/** Reads keys from the standard input; the end gives the terminal back as it was. */
function readKeys(pressed: (key: string) => void): () => void {
  const input = process.stdin;
  const reader = new KeyReader(pressed);
  const take = (piece: string) => reader.take(piece);
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.on("data", take);
  return () => {
    input.off("data", take);
    input.setRawMode(false);
    input.pause();
  };
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** The methods of a client that commands use. */
export type Client = Pick<
  KiteClient,
  | "request"
  | "subscribe"
  | "onEvent"
  | "onLagged"
  | "onLockLost"
  | "close"
  | "closed"
  | "daemon"
  | "absence"
  | "comeBackNow"
>;

/** A call of `kite`, as `process` describes that of this process. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
}

/** What a command does; returns the exit code. */
export type Work = (world: ProcessContext) => Promise<number>;

/** Runs the work of a command; its exit code is the one that the work returns. */
export type Run = (work: Work) => Promise<void>;

export interface ProcessContext {
  /** The command line, with the programs before it. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly paths: KitePaths;
  readonly cwd: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Wall time in milliseconds. */
  readonly now: () => number;
  /** Calls back with each key that a person presses, until the returned function is called; absent: no terminal. */
  readonly keys?: (pressed: (key: string) => void) => () => void;
  /** A person may be asked on the terminal of this process whether they are one. */
  readonly hasWindow?: true;
  /** Calls back at an interval until the returned function is called. */
  readonly every: (ms: number, tick: () => void) => () => void;
  readonly connect: (options: Omit<ConnectOptions, "paths">) => Promise<Client>;
}

/** Returns what a command of this call works with, in `env`. Throws if `KITE_HOME` is no absolute path. */
export function contextOf(call: Invocation, env: Invocation["env"] = call.env): ProcessContext {
  const paths = kitePaths(env);
  return {
    argv: call.argv,
    env,
    paths,
    cwd: call.cwd(),
    stdout: call.stdout,
    stderr: call.stderr,
    now: () => Date.now(),
    // Asked of the system, because making the stream that standard input is takes a millisecond.
    ...(isatty(0) ? { keys: readKeys } : {}),
    // A command that another program started has none of its streams there.
    ...(process.stdin.isTTY || process.stderr.isTTY ? { hasWindow: true as const } : {}),
    every: (ms, tick) => {
      const timer = setInterval(tick, ms);
      return () => clearInterval(timer);
    },
    connect: async options => {
      const { KiteClient } = await import("../../client/client.ts");
      return KiteClient.connect({ ...options, paths });
    },
  };
}

/** Returns a signal that aborts when a person or the system ends this process. A second signal ends it at once. */
export function interrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => ending.abort());
  return ending.signal;
}

const columnsMin = 20;

/**
 * Returns standard output as a screen; `columns`: its width if it is no terminal and `COLUMNS` is not set. In an agent's
 * shell no line is broken: the rest of a foreign text would stand where a line of Kite's own begins.
 */
export function screenOf(world: ProcessContext, columns: number = pipeColumns): Screen {
  const { stdout, env } = world;
  const isTerminal = stdout.isTTY === true;
  const envColumns = Number(env["COLUMNS"]);
  const outside = Number.isInteger(envColumns) && envColumns > 0 ? envColumns : columns;
  const pipe = actingSession(env) === null ? outside : Number.POSITIVE_INFINITY;
  return {
    width: Math.max(columnsMin, isTerminal ? stdout.columns || 80 : pipe),
    color: wantsColor(env, isTerminal),
    now: world.now(),
    home: env["HOME"] ?? "",
  };
}

/** Prints lines on standard output. */
export function print(world: ProcessContext, lines: readonly string[]): void {
  if (lines.length > 0) world.stdout.write(`${lines.join("\n")}\n`);
}

const framed = new WeakSet<ProcessContext>();

/** In an agent's shell, prints once the frame that marks the following text as words of others. */
export function printFrame(world: ProcessContext, output: Output = world.stdout): void {
  if (actingSession(world.env) === null || framed.has(world)) return;
  framed.add(world);
  output.write(`${frame}\n`);
}

/** Prints lines with text of sessions; in an agent's shell, behind the frame that says so. */
export function printFramed(world: ProcessContext, lines: readonly string[]): void {
  if (lines.length > 0) printFrame(world);
  print(world, lines);
}

/** Returns a value as one line of JSON, with invisible and control characters escaped. */
export function jsonLine(value: unknown): string {
  return escaped(JSON.stringify(value));
}

/** Prints one JSON value on standard output, on a line of its own. */
export function printJson(world: ProcessContext, value: unknown): void {
  print(world, [jsonLine(value)]);
}
