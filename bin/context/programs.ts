/**
 * Finds programs on the PATH, and runs programs for spawned agents: their client, git and tmux. None that belongs to the
 * project.
 */

import { spawn } from "node:child_process";
import { accessSync, constants as fileModes } from "node:fs";
import { constants } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { LocalError } from "../../client/errors.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import { sessionVariables } from "../../hooks/claude-code/spawn.ts";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";

/** Keeps the end of an output. */
export class OutputEnd {
  readonly #max: number;
  #chunks: Buffer[] = [];
  #size = 0;

  /** Keeps the last `max` bytes. */
  constructor(max: number) {
    this.#max = max;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (this.#size - first.length < this.#max) break;
      this.#chunks.shift();
      this.#size -= first.length;
    }
    // Many small pieces cost far more than their bytes.
    if (this.#chunks.length > 1024) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** The end as text; a character that its beginning cuts is replaced. */
  get text(): string {
    return Buffer.concat(this.#chunks).subarray(-this.#max).toString("utf8");
  }
}

/** Returns a shell's exit code for a process that a signal ended. */
export function signalCode(signal: NodeJS.Signals | null): number {
  return signal === null ? 1 : 128 + constants.signals[signal];
}

const fromTerminal: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const passedOn: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", ...fromTerminal];

/**
 * Handles the signals that would end this process. Before the command runs, a signal ends the wait; then this class
 * passes it to the command. A terminal signals the command itself, so this class does not pass such signals on.
 */
export class Signals {
  /** Exit code of a signal that arrived before the command ran. */
  ended: number | null = null;
  readonly #listeners: (readonly [NodeJS.Signals, () => void])[];
  #onSignal: (signal: NodeJS.Signals) => void;
  #running = false;

  /** `giveUp` ends the wait before the command runs. */
  constructor(giveUp: () => void) {
    this.#onSignal = giveUp;
    this.#listeners = passedOn.map(signal => [signal, () => this.#take(signal)] as const);
    for (const [signal, listener] of this.#listeners) process.on(signal, listener);
  }

  close(): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  /** From now on passes signals to the command. */
  passTo(pass: (signal: NodeJS.Signals) => void): void {
    this.#running = true;
    this.#onSignal = signal => {
      if (!(process.stdin.isTTY && fromTerminal.includes(signal))) pass(signal);
    };
  }

  #take(signal: NodeJS.Signals): void {
    if (!this.#running) this.ended ??= signalCode(signal);
    this.#onSignal(signal);
  }
}

export type Env = Readonly<Record<string, string | undefined>>;

/** A program is missing, or did not do what it should. */
export class ProgramFailed extends LocalError {
  override readonly name = "ProgramFailed";
  /** The end of what it printed. */
  readonly output: string;

  constructor(message: string, output = "") {
    super(message);
    this.output = output;
  }
}

export interface Ran {
  readonly code: number;
  /** The end of standard output and error together, without terminal controls. */
  readonly output: string;
}

/** Kite's variables of one session, besides those of the client. */
const ownVariables = ["KITE_AGENT", "KITE_CHECK", "KITE_SESSION", "KITE_SPAWN"] as const;

/** The names of all variables that a new session must not inherit. */
export const inheritedVariables: readonly string[] = [...ownVariables, ...sessionVariables];

/** Returns the environment without the variables of the session that runs this command. */
export function withoutSession(env: Env): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !inheritedVariables.includes(name)) kept[name] = value;
  return kept;
}

/** Returns the path of a program, or null; never one below `cwd`. */
function programAt(name: string, env: Env, cwd: string): string | null {
  return findProgram(name, { env, workedIn: [cwd] })?.path ?? null;
}

/** Returns the path of a program. Throws `ProgramFailed` if it is not installed. */
export function neededProgram(name: string, env: Env, cwd: string): string {
  const found = programAt(name, env, cwd);
  if (found !== null) return found;
  throw new ProgramFailed(`${name} is not installed, or not in the PATH; install it, or correct PATH`);
}

/** Runs a program to its end, for at most `limits.spawnProgramMs`. Throws `ProgramFailed` if it does not run or end. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Env },
): Promise<Ran> {
  const child = spawn(program, [...args], { cwd, env: { ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const end = new OutputEnd(limits.spawnProgramBytes);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => end.push(chunk));
  return new Promise((resolve, reject) => {
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limits.spawnProgramMs);
    child.once("error", error => {
      clearTimeout(late);
      reject(new ProgramFailed(`${program} does not run: ${errorText(error)}`));
    });
    child.once("exit", (code, signal) => {
      clearTimeout(late);
      const ended = () => {
        const output = stripVTControlCharacters(end.text);
        const what = [program, args[0] ?? ""].join(" ").slice(0, limits.quoteChars);
        if (isLate)
          reject(new ProgramFailed(`${what} did not end within ${limits.spawnProgramMs / 1000} s`, output));
        else resolve({ code: code ?? signalCode(signal), output });
      };
      // A service that it left in the background may hold its output open.
      const flush = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        ended();
      }, limits.checkFlushMs);
      child.once("close", () => {
        clearTimeout(flush);
        ended();
      });
    });
  });
}

/** Runs a program in this terminal until it ends, and returns its exit code. */
export function runHere(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Env },
): Promise<number> {
  const child = spawn(program, [...args], { cwd, env: { ...env }, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", error => reject(new ProgramFailed(`${program} does not run: ${errorText(error)}`)));
    child.once("exit", (code, signal) => resolve(code ?? signalCode(signal)));
  });
}

/** Returns the end of an output as lines that are safe to show and to keep: `limits.spawnOutputChars` at most. */
export function outputEnd(output: string): string {
  const lines = output
    .split(/\r?\n|\r/)
    .map(line => plain(line))
    .filter(line => line !== "");
  return lines.join("\n").slice(-limits.spawnOutputChars);
}

/** Returns the absolute folders of a PATH, in their order. */
export function foldersOf(path: string | undefined): string[] {
  return (path ?? "").split(delimiter).filter(folder => isAbsolute(folder));
}

/** Returns the first program of this name in the folders of PATH; null if there is none. */
export function programOnPath({ env }: { readonly env: Env }, name: string): string | null {
  const programs = foldersOf(env["PATH"]).map(folder => join(folder, name));
  return programs.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, fileModes.X_OK);
    return true;
  } catch {
    return false; // Missing, or not for this user.
  }
}
