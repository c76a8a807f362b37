/** Runs one check in a process group of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { limits } from "../../../protocol/limits.ts";
import { OutputEnd } from "../../output-end.ts";
import { signalCode } from "../../signals.ts";
import { keepFor } from "./keeper.ts";

export interface CheckRun {
  /** A line for the shell. */
  readonly command: string;
  /** The top of the worktree. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The check is killed after this, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether output goes to this process's own; otherwise its end is kept. */
  readonly streams: boolean;
}

export interface Ran {
  /** The exit code; 128 + the signal that ended the check, as in a shell; 124 after the time limit. */
  readonly exit: number;
  readonly ranMs: number;
  readonly timedOut: boolean;
  /** The end of the output, if it was kept. */
  readonly output: string;
}

/** A check that runs. */
export interface Running {
  readonly done: Promise<Ran>;
  /** Signals the check's process group, and kills it if it does not end within `limits.checkGraceMs`. */
  end(by: NodeJS.Signals): void;
}

/** Runs `$1` after a line on descriptor 3: not if this process is killed before the check has its keeper. */
const whenTold = 'read -r go <&3 && exec /bin/sh -c -- "$1" 3<&-';

/**
 * Starts the check by the system's own shell, not by one that PATH may name in the project. It has no input. When the
 * shell ends, the check has ended: what it left in the background is not waited for.
 */
export function startCheck({ command, cwd, env, timeoutMs, streams }: CheckRun): Running {
  const began = performance.now();
  const output = streams ? "inherit" : "pipe";
  const child = spawn("/bin/sh", ["-c", whenTold, "kite-check", command], {
    cwd,
    env: { ...env },
    // A session of its own: its group ends with it, and a terminal's Ctrl-C comes through this process.
    detached: true,
    stdio: ["ignore", output, output, "pipe"],
  });
  const release = child.pid === undefined ? () => {} : keepFor(child.pid);
  const begin = child.stdio[3] as Writable;
  // It has ended, and says so itself.
  begin.on("error", () => {});
  begin.end("go\n");
  const end = new OutputEnd(limits.checkOutputBytes);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => end.push(chunk));
  let timedOut = false;
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;
  const stop = (by: NodeJS.Signals) => {
    isStopped = true;
    signalGroup(child, by);
    timers.push(setTimeout(() => signalGroup(child, "SIGKILL"), limits.checkGraceMs));
  };
  const late = () => {
    timedOut = true;
    stop("SIGTERM");
  };
  timers.push(setTimeout(late, timeoutMs));
  const done = new Promise<Ran>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, by) => {
      for (const timer of timers) clearTimeout(timer);
      release();
      // Of a check that was ended, nothing goes on.
      if (isStopped) signalGroup(child, "SIGKILL");
      const ranMs = Math.round(performance.now() - began);
      const exit = timedOut ? timeoutExit : (code ?? signalCode(by));
      const ended = () => resolve({ exit, ranMs, timedOut, output: end.text });
      // What a process in the background holds open is closed for it.
      const flush = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        ended();
      }, limits.checkFlushMs);
      child.once("close", () => {
        clearTimeout(flush);
        ended();
      });
    });
  });
  return { done, end: stop };
}

/** As timeout(1) exits. */
const timeoutExit = 124;

/** Signals the group of a child that leads one, also after the child itself has ended. */
export function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (error) {
    // The whole group has ended; macOS says EPERM if some of it are zombies.
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
