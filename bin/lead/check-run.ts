/** Runs one check in a process group of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { LocalError } from "../../client/errors.ts";
import { type Check, commandHash } from "../../daemon/lead/settings.ts";
import type { UnneededRow, WorktreeStateReply } from "../../protocol/lead/check.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import { visible } from "../../protocol/text.ts";
import type { Acting } from "../context/actor.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { OutputEnd, ProgramFailed, signalCode } from "../context/programs.ts";
import { refusalText } from "../refusal-text.ts";
import { cut, duration, listed } from "../view/text.ts";
import { Git } from "./spawn/git.ts";

// Ends a check whose command was killed: nothing else would.

/**
 * Waits for a line. If its input ends before, the process that has the other end was killed: it ends the group `$1`, with
 * `$2` seconds between the signals.
 */
const script = 'read -r over && exit; kill -s TERM -- "-$1" && sleep "$2" && kill -s KILL -- "-$1"';

/**
 * Starts a shell that ends the process group `group` as soon as this process has ended without calling what this returns:
 * the check is over. The shell has a session of its own, because what ends a terminal's processes must not end it.
 */
function keepFor(group: number): () => void {
  const seconds = String(limits.checkGraceMs / 1000);
  const keeper = spawn("/bin/sh", ["-c", script, "kite-check", String(group), seconds], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a keeper the check runs as well: it is missed only if this process is killed.
  keeper.on("error", () => {});
  keeper.stdin.on("error", () => {});
  keeper.unref();
  return () => keeper.stdin.end("over\n");
}

interface CheckRun {
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
interface Running {
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

// Signals to `kite check`: they go to the check that runs, which has a process group of its own.

const taken: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

export class Interrupts {
  /** The exit code after a signal; null: none came. */
  exit: number | null = null;
  #running: Running | null = null;
  #tell: () => void = () => {};
  readonly #came = new Promise<null>(resolve => {
    this.#tell = () => resolve(null);
  });
  readonly #listener = (signal: NodeJS.Signals) => this.#take(signal);

  constructor() {
    for (const signal of taken) process.on(signal, this.#listener);
  }

  /** From now on signals are this check's; null: no check runs. */
  passTo(running: Running | null): void {
    this.#running = running;
    if (this.exit !== null) running?.end("SIGTERM");
  }

  /** Returns the work's result, or null as soon as a signal came: the work is not waited for. */
  until<T>(work: Promise<T>): Promise<T | null> {
    return Promise.race([work, this.#came]);
  }

  close(): void {
    for (const signal of taken) process.off(signal, this.#listener);
  }

  /** A second signal kills. */
  #take(signal: NodeJS.Signals): void {
    this.#running?.end(this.exit === null ? signal : "SIGKILL");
    this.exit ??= signalCode(signal);
    this.#tell();
  }
}

// The state of the worktree before and after a check, and the result that counts for it.

/** A state as the daemon told it, or why it did not: then `dirty` is null. */
export type State = Omit<WorktreeStateReply, "ok">;

export async function stateAt(client: Client, id: string | undefined, cwd: string): Promise<State> {
  const unknown = (reason: string) =>
    ({ project: cwd, top: cwd, commit: null, dirty: null, files: 0, changed: [], reason }) as const;
  try {
    const params = { cwd, ...(id === undefined ? {} : { id }) };
    const answer = await client.request("worktree_state", params, { timeoutMs: limits.stateRequestMs });
    return answer.ok ? answer : unknown(refusalText(answer, "terminal"));
  } catch (error) {
    // The daemon is away: the check runs, or ran, all the same.
    if (!(error instanceof LocalError)) throw error;
    return unknown(error.message);
  }
}

/** Returns why a run between these states counts for neither, or null. */
export function whyUnrecorded(name: string, before: State, after: State): string | null {
  const reason = before.reason ?? after.reason;
  if (before.dirty === null || after.dirty === null)
    return reason ?? "the state of the worktree is not known";
  if (before.commit !== after.commit) return `another commit came while ${name} ran; run it again`;
  if (before.dirty === after.dirty) return null;
  const names = differing(before, after);
  const shown = names.slice(0, 3);
  const which = names.length === 0 ? "" : ` (${listed(shown, names.length - shown.length)})`;
  return `files changed while ${name} ran${which}; run it again, or let .gitignore name what it writes`;
}

/** Returns the files that differ between two states, as far as the daemon named them. */
function differing(before: State, after: State): string[] {
  const was = new Map(before.changed.map(({ file, content }) => [file, content]));
  const is = new Map(after.changed.map(({ file, content }) => [file, content]));
  return [...new Set([...was.keys(), ...is.keys()])].filter(file => was.get(file) !== is.get(file)).sort();
}

/** What one check came to. */
export interface Outcome extends Ran {
  readonly name: string;
  readonly green: boolean;
  /** Why the result counts for no state; null: the daemon keeps it for this one. */
  readonly unrecorded: string | null;
  /** Whether files changed while the check ran: its result says nothing of either state. */
  readonly isUnsure: boolean;
  readonly state: Pick<State, "commit" | "files">;
}

// Says on standard error which check runs; on a terminal where the output is not shown, for how long already.

export class Progress {
  readonly #world: ProcessContext;
  readonly #count: number;
  readonly #isSilent: boolean;
  readonly #isLive: boolean;
  #begun = 0;
  #stop: (() => void) | null = null;

  constructor(
    world: ProcessContext,
    count: number,
    { quiet = false, json = false }: { readonly quiet?: boolean; readonly json?: boolean },
  ) {
    this.#world = world;
    this.#count = count;
    this.#isSilent = json;
    this.#isLive = quiet && world.stderr.isTTY === true;
  }

  begin({ name, command }: Check): void {
    if (this.#isSilent) return;
    this.#begun += 1;
    const { stderr, now, every } = this.#world;
    const what = `${name} (${this.#begun} of ${this.#count}): ${visible(command)}`;
    if (!this.#isLive) {
      stderr.write(`kite: ${what}\n`);
      return;
    }
    const since = now();
    const show = () =>
      void stderr.write(`\r\u001b[K${cut(`${duration(now() - since)} ${what}`, stderr.columns ?? 80)}`);
    show();
    this.#stop = every(1000, show);
  }

  /** Ends the line of the check that ran. */
  end(): void {
    if (this.#stop === null) return;
    this.#stop();
    this.#stop = null;
    this.#world.stderr.write("\r\u001b[K");
  }
}

/**
 * Checks that run `kite check`. A project's tests may do so, even of other projects; a check that runs itself would never
 * end. `KITE_CHECK` therefore names the checks that run around a command.
 */
type Env = Readonly<Record<string, string | undefined>>;

/** Returns a sentence if a check of the project runs this command. */
export function nestingProblem(env: Env, project: string): string | null {
  const outer = nested(env).find(one => one.project === project);
  if (outer === undefined) return null;
  return `this runs within the check ${outer.name} of the same project, and would never end; call its commands themselves`;
}

/** Returns the environment of a check. */
export function withNested(env: Env, project: string, name: string): Env {
  return { ...env, KITE_CHECK: JSON.stringify([...nested(env), { project, name }]) };
}

interface Nested {
  readonly project: string;
  readonly name: string;
}

function nested({ KITE_CHECK: text }: Env): readonly Nested[] {
  try {
    const read: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(read) ? read.filter(isNested) : [];
  } catch {
    // Somebody else set it: it names no check.
    return [];
  }
}

function isNested(value: unknown): value is Nested {
  return (
    typeof value === "object" &&
    value !== null &&
    "project" in value &&
    typeof value.project === "string" &&
    "name" in value &&
    typeof value.name === "string"
  );
}

// Which checks `kite check` leaves out: those that nothing of what they look at has changed for.

interface Place {
  readonly env: Env;
  readonly worktree: string;
  readonly own: Acting | null;
}

/** Returns the rows of those `checks` that need no run; none where nobody can tell, and in continuous integration. */
export async function unneededOf(
  client: Client,
  checks: readonly Check[],
  { env, worktree, own }: Place,
): Promise<readonly UnneededRow[]> {
  const isLimited = checks.some(({ when }) => when !== null);
  if (!isLimited || !["", "false", "0"].includes(env["CI"] ?? "")) return [];
  const base = await baseCommit(new Git({ ...env, PATH: searchPath(env["PATH"]) }, worktree));
  const params = {
    cwd: worktree,
    ...(own === null ? {} : { id: own.id }),
    ...(base === null ? {} : { base }),
  };
  try {
    const answer = await client.request("check_unneeded", params, { timeoutMs: limits.stateRequestMs });
    if (!answer.ok) return [];
    const isSame = (row: UnneededRow) => (check: Check) =>
      check.name === row.name &&
      commandHash(check.command) === row.command &&
      JSON.stringify(check.when) === JSON.stringify(row.when);
    return answer.unneeded.filter(row => checks.some(isSame(row)));
  } catch (error) {
    // The daemon is away, or another version: then every check runs.
    if (!(error instanceof LocalError)) throw error;
    return [];
  }
}

/**
 * Returns the commit at which the worktree's branch left the branch that `kite merge` moves: that of the main worktree,
 * or else the remote's default branch. Null: the worktree is on that branch itself, or git does not tell.
 */
async function baseCommit(git: Git): Promise<string | null> {
  try {
    const own = await word(git, "symbolic-ref", "--quiet", "HEAD");
    const [main = ""] = (await git.outputOf("worktree", "list", "--porcelain")).split("\n\n");
    const branch = /^branch (refs\/heads\/.+)$/m.exec(main)?.[1] ?? null;
    const remote = await word(git, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD");
    for (const base of [branch, remote]) {
      if (base === null || base === own) continue;
      if (own !== null && base === own.replace(/^refs\/heads\//, "refs/remotes/origin/")) continue;
      const commit = await word(git, "merge-base", "HEAD", base);
      if (commit !== null) return commit;
    }
    return null;
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    return null;
  }
}

/** Returns the line that git prints; null if it fails. */
async function word(git: Git, ...args: readonly string[]): Promise<string | null> {
  const { code, output } = await git.run(...args);
  const line = output.trim();
  return code === 0 && line !== "" && !line.includes("\n") ? line : null;
}
