import { spawn } from "node:child_process";
import { limits } from "../protocol/limits.ts";

/** Where git looks: both absolute, so that nothing is searched for and no setting sends it elsewhere. */
export interface GitPlace {
  readonly worktree: string;
  readonly gitDir: string;
}

export interface GitAnswer {
  /** Null: it was not started, was stopped, or wrote more than is read; `said` tells then. */
  readonly code: number | null;
  readonly out: string;
  readonly said: string;
}

/**
 * Git's reading commands as children of the daemon. Only those that run no program named by a repository may be
 * asked (`ls-files`, `ls-tree`, `check-ignore`, `rev-parse`): `status` and `diff` run its filters. What a repository
 * could still name (a file system monitor, hooks, remotes to fetch what is missing from) is switched off, nothing is
 * locked or written, and the environment is an allow-list.
 */
export class GitChild {
  readonly #env: NodeJS.ProcessEnv;
  readonly #program: string;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(env: NodeJS.ProcessEnv = process.env, program = "git") {
    this.#program = program;
    this.#env = { LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" };
    // None, whatever a repository allows itself; git before 2.39.4 does not know the first.
    Object.assign(this.#env, { GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "" });
    for (const name of ["PATH", "HOME", "XDG_CONFIG_HOME"]) {
      if (env[name] !== undefined) this.#env[name] = env[name];
    }
  }

  /** Runs `git ...args` in `cwd`, stopped at `deadline` (of `performance.now()`, in milliseconds). */
  async run(args: readonly string[], cwd: string, deadline: number, input = ""): Promise<GitAnswer> {
    if (this.#running >= limits.gitAtOnceMax) await new Promise<void>(go => this.#waiting.push(go));
    this.#running += 1;
    try {
      return await this.#run(args, cwd, deadline, input);
    } catch (error) {
      // Out of descriptors there is no child to speak of: who asked goes on as where git does not answer.
      return { code: null, out: "", said: unstarted(error) };
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #run(args: readonly string[], cwd: string, deadline: number, input: string): Promise<GitAnswer> {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return Promise.resolve({ code: null, out: "", said: late });
    return new Promise(resolve => {
      const child = spawn(this.#program, [...quietly, ...args], { cwd, env: this.#env, stdio: "pipe" });
      const out: Buffer[] = [];
      let said = "";
      let size = 0;
      let why: string | null = null;
      const stop = (reason: string) => {
        why ??= reason;
        child.kill("SIGKILL");
      };
      const timer = setTimeout(() => stop(late), leftMs);
      child.stdout.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.gitOutputBytes) stop("git wrote more than is read of it");
        else out.push(chunk);
      });
      child.stderr.on("data", (chunk: Buffer) => {
        if (said.length < limits.quoteChars) said += chunk.toString("utf8");
      });
      const end = (code: number | null, words: string) => {
        clearTimeout(timer);
        resolve({ code: why === null ? code : null, out: Buffer.concat(out).toString("utf8"), said: words });
      };
      child.on("error", error => end(null, unstarted(error)));
      child.on("close", code => end(code, why ?? said));
      // It may have ended without reading: then its code tells.
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
  }
}

function unstarted(error: unknown): string {
  return `git cannot be started (${error instanceof Error ? error.message : String(error)})`;
}

const late = `git did not answer within ${limits.guardMs} ms`;

const quietly = [
  "--no-pager",
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null"].flatMap(set => ["-c", set]),
];
