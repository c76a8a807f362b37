/** Runs git as a child process, so that it executes no program of a project. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { open, readlink } from "node:fs/promises";
import { errorText } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { searchPath } from "../../../protocol/paths.ts";
import type { Unreachable } from "../filesystem.ts";
import type { SpawnRoom } from "../prober.ts";
import { findProgram, isOf, type Program } from "../programs.ts";
import { type Allowance, Slots } from "../work-clock.ts";

interface GitProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories in which sessions work at the moment. */
  readonly workedIn: () => Iterable<string>;
}

/**
 * The git that the daemon runs, by the rule of programs.ts. The daemon searches once, and again if the program is gone
 * or a session starts to work in a folder above it.
 */
export class GitProgram {
  readonly #options: GitProgramOptions;
  #found: Program | null = null;

  constructor(options: GitProgramOptions) {
    this.#options = options;
  }

  /** Returns git for a command in `cwd`, or null; never a git that belongs to the project of `cwd`. */
  for(cwd: string): Program | null {
    if (this.#found === null || isOf(this.#found, cwd)) {
      const { env, workedIn } = this.#options;
      this.#found = findProgram("git", { env, workedIn: [...workedIn(), cwd] });
    }
    return this.#found;
  }

  /** Notes that a session now works in these directories. */
  workedIn(directories: readonly string[]): void {
    const found = this.#found;
    if (found !== null && directories.some(directory => isOf(found, directory))) this.#found = null;
  }

  /** Called when git could not be started: an update may have moved it. */
  forget(): void {
    this.#found = null;
  }
}

/** The repository that git works on. Both paths are absolute, so git searches nothing and no setting redirects it. */
export interface GitPlace {
  readonly worktree: string;
  readonly gitDir: string;
}

export interface GitAnswer {
  /** Null if git was not started, was stopped, or wrote too much; `errorText` explains it. */
  readonly code: number | null;
  readonly out: string;
  readonly errorText: string;
}

/** Gets git's output instead of its answer, piece by piece; returns why git has to stop, or null. */
export type TakeOutput = (chunk: Buffer) => string | null;

/** Errors of a system that has no room for another process at the moment. */
const crowded: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/**
 * Runs git's reading commands as children of the daemon. It runs only commands that start no program named by a repository.
 * These are `ls-files`, `ls-tree`, `check-ignore`, `config`, `rev-parse`, `rev-list`, `merge-base`, `for-each-ref` and
 * `cat-file`. It also runs `diff-tree` of two commits by names alone, and `diff-index --cached --raw`. It runs no `status`
 * and no `diff`: they run the repository's filters. Other programs that a repository could name (a file system monitor,
 * hooks, remotes to fetch missing objects from) are switched off. Git locks and writes nothing, the environment is an
 * allow-list, and the git program is never one of a project.
 */
export class GitChild {
  readonly #env: NodeJS.ProcessEnv;
  readonly #program: GitProgram;
  readonly #room: Pick<SpawnRoom, "lend" | "refill"> | null;
  readonly #slots = new Slots(limits.gitAtOnceMax);

  constructor(
    env: NodeJS.ProcessEnv = process.env,
    program: GitProgram = new GitProgram({ env, workedIn: () => [] }),
    room: Pick<SpawnRoom, "lend" | "refill"> | null = null,
  ) {
    this.#room = room;
    this.#program = program;
    this.#env = { LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" };
    // No protocols, whatever the repository allows; git before 2.39.4 does not know the first variable.
    Object.assign(this.#env, { GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "" });
    for (const name of ["HOME", "XDG_CONFIG_HOME"]) {
      if (env[name] !== undefined) this.#env[name] = env[name];
    }
    // Git finds its own parts by PATH, and a wrapper around git needs more of it.
    this.#env["PATH"] = searchPath(env["PATH"]) || "/usr/bin:/bin";
  }

  /**
   * Runs `git ...args` in `cwd`, stopped at the end of the allowance. If the machine has no room for a process
   * (descriptors, processes, memory), tries again for `limits.gitCrowdedMs`: who waits has less time than the allowance.
   */
  async run(
    args: readonly string[],
    cwd: string,
    allowance: Allowance,
    input = "",
    take: TakeOutput | null = null,
  ): Promise<GitAnswer> {
    return this.#slots.run(async () => {
      const { drive } = allowance.clock;
      const until = drive.now() + limits.gitCrowdedMs;
      for (;;) {
        if (allowance.isOver) return { code: null, out: "", errorText: late(allowance) };
        const answer = await this.#run(args, cwd, allowance, input, take);
        if (!answer.isCrowded) return answer;
        if (allowance.isOver || drive.now() >= until) return answer;
        await allowance.clock.beat();
      }
    });
  }

  #run(
    args: readonly string[],
    cwd: string,
    allowance: Allowance,
    input: string,
    take: TakeOutput | null,
  ): Promise<GitAnswer & { readonly isCrowded: boolean }> {
    const program = this.#program.for(cwd);
    if (program === null)
      return Promise.resolve({ code: null, out: "", errorText: unstarted(none), isCrowded: false });
    return new Promise(resolve => {
      let stderr = "";
      let why: string | null = null;
      const unwatch = allowance.clock.watch(() => {
        if (allowance.isOver) stop(late(allowance));
      });
      const end = (code: number | null, errorText: string, isCrowded = false) => {
        unwatch();
        this.#room?.refill();
        const answered = why === null ? code : null;
        resolve({ code: answered, out: output.text, errorText, isCrowded });
      };
      const fail = (error: unknown) => {
        const isCrowded = error instanceof Error && "code" in error && crowded.has(error.code);
        if (!isCrowded) this.#program.forget();
        end(null, unstarted(error), isCrowded);
      };
      let stop: (reason: string) => void = () => {};
      const output = new Output(take);
      try {
        const options = { cwd, env: this.#env, stdio: "pipe", argv0: program.path } as const;
        const start = () => spawn(program.real, [...quietly, ...args], options);
        const child = this.#room === null ? start() : this.#room.lend(start);
        // Attached first: without descriptors the child emits an error and has no streams.
        child.on("error", fail);
        stop = reason => {
          why ??= reason;
          child.kill("SIGKILL");
        };
        child.on("close", code => end(code, why ?? stderr));
        child.stdout?.on("data", (chunk: Buffer) => {
          const wrong = output.take(chunk, why !== null);
          if (wrong !== null) stop(wrong);
        });
        child.stderr?.on("data", (chunk: Buffer) => {
          if (stderr.length < limits.quoteChars) stderr += chunk.toString("utf8");
        });
        // Git may have ended without reading its input: its exit code then tells.
        child.stdin?.on("error", () => {});
        child.stdin?.end(input);
      } catch (error) {
        fail(error);
      }
    });
  }
}

/** What one git writes: kept up to `limits.gitOutputBytes`, or handed to `take` as it comes. */
class Output {
  readonly #kept: Buffer[] = [];
  readonly #take: TakeOutput | null;
  #size = 0;

  constructor(take: TakeOutput | null) {
    this.#take = take;
  }

  /** Returns why git has to stop, or null. Some output of a stopped git still comes; `take` does not get it. */
  take(chunk: Buffer, isStopped: boolean): string | null {
    if (this.#take !== null) return isStopped ? null : this.#take(chunk);
    this.#size += chunk.length;
    if (this.#size > limits.gitOutputBytes) return "git wrote more than is read of it";
    this.#kept.push(chunk);
    return null;
  }

  get text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}

/** Returns git's error text as an unreachable fact. */
export function unreachable(errorText: string): Unreachable {
  return { unreachable: errorText.trim().split("\n")[0] || "git did not answer" };
}

function late({ workMs }: Allowance): string {
  return `git did not answer within ${workMs} ms of work`;
}

function unstarted(error: unknown): string {
  return `git cannot be started (${errorText(error)})`;
}

const none = new Error("there is none that the daemon runs: kite doctor says why");

const quietly = [
  "--no-pager",
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null"].flatMap(set => ["-c", set]),
];

// The content of a file as git stores and names it.

/** Returns the bytes that git would store of the file; null if git does not store such a file. */
export async function contentOf(path: string, stat: BigIntStats): Promise<Buffer | null> {
  if (stat.isSymbolicLink()) return Buffer.from(await readlink(path));
  if (!stat.isFile()) return null;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const buffer = Buffer.alloc(Number(stat.size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return bytesRead === buffer.length ? buffer : null;
  } finally {
    await handle.close();
  }
}

export function oidOf(content: Buffer, length: number): string {
  const hash = createHash(length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** Git's id of the empty tree, in SHA-1 or SHA-256. */
export function emptyTree(like: string | null): string {
  return like?.length === 64
    ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}
