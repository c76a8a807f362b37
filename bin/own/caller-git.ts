/**
 * Git as the caller could run it itself: with its settings, filters, signing and identity. Variables that point git at another
 * repository or index do not count.
 */

import { spawn } from "node:child_process";
import { errorText } from "../../protocol/errors.ts";
import { plain } from "../../protocol/text.ts";
import { type Env, neededProgram, ProgramFailed, signalCode } from "../context/programs.ts";

export interface GitRan {
  readonly code: number;
  readonly out: Buffer;
  readonly err: string;
}

interface GitOptions {
  readonly cwd?: string;
  readonly input?: Buffer | string;
  /** The index that it reads and writes instead of the worktree's. */
  readonly index?: string;
}

/** As `git rev-parse --local-env-vars` lists them, without those that carry settings. */
const pointers =
  /^GIT_(?:ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|DIR|GRAFT_FILE|IMPLICIT_WORK_TREE|INDEX_FILE|INTERNAL_SUPER_PREFIX|NAMESPACE|NO_REPLACE_OBJECTS|OBJECT_DIRECTORY|PREFIX|REPLACE_REF_BASE|SHALLOW_FILE|WORK_TREE|(?:GLOB|ICASE|LITERAL|NOGLOB)_PATHSPECS|REFLOG_ACTION)$/;

export class CallerGit {
  readonly env: Env;
  readonly #program: string;
  readonly #cwd: string;

  /** Runs in the top of a worktree. Throws `ProgramFailed` if there is no git. */
  constructor(env: Env, worktree: string) {
    this.env = Object.fromEntries(Object.entries(env).filter(([name]) => !pointers.test(name)));
    this.#cwd = worktree;
    this.#program = neededProgram("git", env, worktree);
  }

  /** Returns what git said. Throws `ProgramFailed` if it does not run. */
  run(args: readonly string[], { cwd = this.#cwd, input, index }: GitOptions = {}): Promise<GitRan> {
    const own = index === undefined ? {} : { GIT_INDEX_FILE: index };
    const env = { ...this.env, GIT_TERMINAL_PROMPT: "0", ...own };
    return ranProgram(this.#program, ["--no-pager", ...args], { cwd, env, input });
  }

  /** Returns the output. Throws `ProgramFailed` with git's own words if it fails. */
  async read(args: readonly string[], options?: GitOptions): Promise<Buffer> {
    const { code, out, err } = await this.run(args, options);
    if (code === 0) return out;
    throw new ProgramFailed(`git ${args[0] ?? ""} failed: ${plain(err).slice(-500)}`, err);
  }

  /** The same as a line of text. */
  async line(args: readonly string[], options?: GitOptions): Promise<string> {
    return (await this.read(args, options)).toString().trimEnd();
  }

  /** The same; null if git fails, as where it has no answer. */
  async lineOrNull(args: readonly string[], options?: GitOptions): Promise<string | null> {
    const { code, out } = await this.run(args, options);
    return code === 0 ? out.toString().trimEnd() : null;
  }
}

interface ProgramOptions {
  readonly cwd: string;
  readonly env: Env;
  readonly input?: Buffer | string | undefined;
}

/** Runs a program to its end, and returns all that it prints. Throws `ProgramFailed` if it does not run. */
export function ranProgram(
  program: string,
  args: readonly string[],
  { cwd, env, input }: ProgramOptions,
): Promise<GitRan> {
  const child = spawn(program, [...args], { cwd, env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  // A program that does not read its input ends without it.
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", error => reject(new ProgramFailed(`${program} does not run: ${errorText(error)}`)));
    child.once("close", (code, signal) =>
      resolve({
        code: code ?? signalCode(signal),
        out: Buffer.concat(out),
        err: Buffer.concat(err).toString(),
      }),
    );
  });
}
