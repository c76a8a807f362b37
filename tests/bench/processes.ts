/** The programs a measurement runs, each a process of its own; they end with this one. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeFlags } from "../../client/launch.ts";
import type { Job, Outcome } from "./programs/load-generator.ts";

const programs = join(dirname(fileURLToPath(import.meta.url)), "programs");

export type Program =
  | "kite-daemon"
  | "stall-daemon"
  | "echo-server"
  | "ideal-server"
  | "load-generator"
  | "held-engine"
  | "journal-writer"
  | "task-engine";

/** Where everything of one measurement lives, gone after it. */
export class Bench {
  readonly dir = mkdtempSync(join(tmpdir(), "kite-bench-"));
  readonly #children: ChildProcess[] = [];

  /** Starts a program and resolves with its first word: it is ready. */
  async start(program: Program, args: readonly string[]): Promise<Started> {
    const child = fork(join(programs, `${program}.mjs`), [...args], {
      execArgv: flagsFor(program),
      env: { PATH: process.env["PATH"], UV_THREADPOOL_SIZE: "16" },
      serialization: "advanced",
    });
    this.#children.push(child);
    const began = performance.now();
    const word = await heard(child, program);
    return { child, word, readyMs: performance.now() - began };
  }

  /** A temporary repository: files in ten folders, and a hundred empty folders `held/part-<n>`; returns its path. */
  repository(): string {
    const cwd = join(this.dir, "repository");
    mkdirSync(join(cwd, ".git"), { recursive: true });
    writeFileSync(join(cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
    for (let part = 0; part < 10; part += 1) {
      const folder = join(cwd, "src", `part-${part}`);
      mkdirSync(folder, { recursive: true });
      for (let n = 0; n < 160; n += 1) writeFileSync(join(folder, `file-${n}.ts`), "");
    }
    for (let part = 0; part < 100; part += 1)
      mkdirSync(join(cwd, "held", `part-${part}`), { recursive: true });
    return cwd;
  }

  /** Ends one program, as a crash would. */
  async stop({ child }: Started): Promise<void> {
    await end(child);
  }

  /** Ends what was started and removes the directory. */
  async end(): Promise<void> {
    for (const child of this.#children) await end(child);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  // Not SIGKILL: a profiler writes what it found when its process ends by itself.
  child.kill("SIGINT");
  await gone;
}

/** `KITE_BENCH_FLAGS="kite-daemon --cpu-prof --cpu-prof-dir=DIR"` gives Node's flags to one of the programs. */
function flagsFor(program: Program): string[] {
  const own = program === "kite-daemon" ? nodeFlags : [];
  const [name, ...flags] = (process.env["KITE_BENCH_FLAGS"] ?? "").split(" ");
  return name === program ? [...own, ...flags] : [...own];
}

export interface Started {
  readonly child: ChildProcess;
  readonly word: unknown;
  /** From its start to its word. */
  readonly readyMs: number;
}

/** Bytes of memory a program said to have when it was ready. */
export function rssOf({ word }: Started): number {
  return (word as { readonly rss: number }).rss;
}

/** Gives a load generator a job and resolves with what came out of it. */
export async function work(generator: Started, job: Job): Promise<Outcome> {
  generator.child.send(job);
  return (await heard(generator.child, job.kind)) as Outcome;
}

/** The next message of a program; rejects where it ends first. */
export function heard(child: ChildProcess, what: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`${what} ended with ${code}`));
    child.once("exit", ended);
    child.once("message", message => {
      child.off("exit", ended);
      resolve(message);
    });
  });
}
