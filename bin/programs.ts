/** Runs programs for spawned agents: their client, git and tmux. None that belongs to the project. */
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { LocalError } from "../client/errors.ts";
import { findProgram } from "../daemon/facts/programs.ts";
import { sessionVariables } from "../hooks/claude-code/spawn.ts";
import { errorText } from "../protocol/errors.ts";
import { limits } from "../protocol/limits.ts";
import { plain } from "../protocol/text.ts";
import { OutputEnd } from "./output-end.ts";
import { signalCode } from "./signals.ts";

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
