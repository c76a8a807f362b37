import { spawn } from "node:child_process";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import { GitProgram } from "./git-program.ts";
import type { Allowance } from "./work-clock.ts";

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

/** What a system says that has no room for another process just now. */
const crowded: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/**
 * Git's reading commands as children of the daemon. Only those that run no program named by a repository may be
 * asked (`ls-files`, `ls-tree`, `check-ignore`, `config`, `rev-parse`, `rev-list`, `merge-base`, `for-each-ref`, and
 * `diff-tree` of two commits by names alone): `status` and `diff` run its filters. What a repository
 * could still name (a file system monitor, hooks, remotes to fetch what is missing from) is switched off, nothing is
 * locked or written, and the environment is an allow-list. Git itself is none that a project brings along.
 */
export class GitChild {
  readonly #env: NodeJS.ProcessEnv;
  readonly #program: GitProgram;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    env: NodeJS.ProcessEnv = process.env,
    program: GitProgram = new GitProgram({ env, workedIn: () => [] }),
  ) {
    this.#program = program;
    this.#env = { LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" };
    // None, whatever a repository allows itself; git before 2.39.4 does not know the first.
    Object.assign(this.#env, { GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "" });
    for (const name of ["HOME", "XDG_CONFIG_HOME"]) {
      if (env[name] !== undefined) this.#env[name] = env[name];
    }
    // Git looks there for what it is made of, and a wrapper around it for more.
    this.#env["PATH"] = searchPath(env["PATH"]) || "/usr/bin:/bin";
  }

  /**
   * Runs `git ...args` in `cwd`, stopped when the allowance is over. Where there is no room for a process (descriptors,
   * processes, memory), it is tried again until then.
   */
  async run(args: readonly string[], cwd: string, allowance: Allowance, input = ""): Promise<GitAnswer> {
    if (this.#running >= limits.gitAtOnceMax) await new Promise<void>(go => this.#waiting.push(go));
    this.#running += 1;
    try {
      for (;;) {
        if (allowance.isOver) return { code: null, out: "", said: late(allowance) };
        const answer = await this.#run(args, cwd, allowance, input);
        if (!answer.isCrowded) return answer;
        if (allowance.isOver) return answer;
        await allowance.clock.beat();
      }
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #run(
    args: readonly string[],
    cwd: string,
    allowance: Allowance,
    input: string,
  ): Promise<GitAnswer & { readonly isCrowded: boolean }> {
    const program = this.#program.for(cwd);
    if (program === null)
      return Promise.resolve({ code: null, out: "", said: unstarted(none), isCrowded: false });
    return new Promise(resolve => {
      const out: Buffer[] = [];
      let said = "";
      let size = 0;
      let why: string | null = null;
      const unwatch = allowance.clock.watch(() => {
        if (allowance.isOver) stop(late(allowance));
      });
      const end = (code: number | null, words: string, isCrowded = false) => {
        unwatch();
        const answered = why === null ? code : null;
        resolve({ code: answered, out: Buffer.concat(out).toString("utf8"), said: words, isCrowded });
      };
      const fail = (error: unknown) => {
        const isCrowded = error instanceof Error && "code" in error && crowded.has(error.code);
        if (!isCrowded) this.#program.forget();
        end(null, unstarted(error), isCrowded);
      };
      let stop: (reason: string) => void = () => {};
      try {
        const options = { cwd, env: this.#env, stdio: "pipe", argv0: program.path } as const;
        const child = spawn(program.real, [...quietly, ...args], options);
        // First of all: without descriptors there is an error, and a child without streams.
        child.on("error", fail);
        stop = reason => {
          why ??= reason;
          child.kill("SIGKILL");
        };
        child.on("close", code => end(code, why ?? said));
        child.stdout?.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > limits.gitOutputBytes) stop("git wrote more than is read of it");
          else out.push(chunk);
        });
        child.stderr?.on("data", (chunk: Buffer) => {
          if (said.length < limits.quoteChars) said += chunk.toString("utf8");
        });
        // It may have ended without reading: then its code tells.
        child.stdin?.on("error", () => {});
        child.stdin?.end(input);
      } catch (error) {
        fail(error);
      }
    });
  }
}

function late({ workMs }: Allowance): string {
  return `git did not answer within ${workMs} ms of work`;
}

function unstarted(error: unknown): string {
  return `git cannot be started (${error instanceof Error ? error.message : String(error)})`;
}

const none = new Error("there is none that the daemon runs: kite doctor says why");

const quietly = [
  "--no-pager",
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null"].flatMap(set => ["-c", set]),
];
