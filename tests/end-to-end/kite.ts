/** Commands of `kite`: in this process, for tests of what they do and say, or as a process, where that is the subject. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { commands } from "../../bin/command-table.ts";
import { run } from "../../bin/program.ts";

/** The built program, as an argument for Node. */
export const kiteProgram = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

export interface Ran {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Where a command runs. */
export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs a command in this process to its end. Throws if it would touch the home of whoever runs the tests. */
export async function kite({ cwd, env }: Place, args: readonly string[]): Promise<Ran> {
  if (homeIn(env) === homeIn(process.env))
    throw new Error("a command of a test needs a home of its own: KITE_HOME or HOME");
  // It reads this process' environment, and ends this process.
  if (args.includes("--foreground")) throw new Error("start a daemon in the foreground as a process");
  const [out, err] = [new Text(), new Text()];
  const argv = [process.execPath, kiteProgram, ...args];
  const code = await run({ argv, env, cwd: () => cwd, stdout: out, stderr: err }, commands);
  return { code, out: out.text, err: err.text };
}

/** Returns Kite's home for an environment, as far as it names one well. */
function homeIn(env: Place["env"]): string {
  return env["KITE_HOME"] || join(env["HOME"] || homedir(), ".kite");
}

/** An output that keeps what is written. */
class Text {
  text = "";

  write(text: string): void {
    this.text += text;
  }
}

export type KiteProcess = ChildProcessByStdio<null, Readable, Readable>;

/** Starts a command as a process. */
export function startKite({ cwd, env }: Place, args: readonly string[]): KiteProcess {
  return spawn(process.execPath, [kiteProgram, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
}

/** What a process printed so far. */
export function textOf(child: KiteProcess): { readonly out: string; readonly err: string } {
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text.out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text.err += chunk;
  });
  return text;
}

/** Waits for the end of a process that has just started. */
export async function ended(child: KiteProcess): Promise<Ran> {
  const text = textOf(child);
  const [code] = await once(child, "close");
  return { code, ...text };
}

/** A command that did not end with 0. */
export class KiteFailed extends Error {
  override readonly name = "KiteFailed";
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(args: readonly string[], { code, out, err }: Ran) {
    super(`kite ${args.join(" ")} ended with ${code}\n${err}`);
    [this.code, this.stdout, this.stderr] = [code, out, err];
  }
}
