/** Starts a daemon if none runs. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, fchmodSync, lstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Refusal } from "../protocol/codes.ts";
import { errorText } from "../protocol/errors.ts";
import { limits } from "../protocol/limits.ts";
import { type KitePaths, searchPath } from "../protocol/paths.ts";
import { KiteClient } from "./client.ts";
import { ConnectionClosed, NotRunning, StartFailed, TimedOut } from "./errors.ts";

interface LaunchOptions {
  readonly paths: KitePaths;
  /** The daemon's program, which this process's Node runs. */
  readonly daemonProgram: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The daemon exits before it answers any client if `kite down` ran meanwhile. */
  readonly unlessDown?: boolean;
  /** How long a started daemon may read its journal, in milliseconds; `limits.startReadyMs`. */
  readonly waitMs?: number;
  /** This client's name in `hello`. */
  readonly name?: string;
}

export interface Launched {
  /** False if a daemon already ran, or another process started one first. */
  readonly started: boolean;
  readonly client: KiteClient;
}

/**
 * The daemon's one line to its starter on descriptor 3: `ready`; `held` if another process has the lock; or why the
 * daemon could not start. `KITE_READY_FD` in the daemon's environment names the descriptor.
 */
type Word = { readonly is: "ready" | "held" } | { readonly is: "error"; readonly sentence: string };

const readyFd = 3;

/**
 * Node's flags for the daemon. With twice the default of 16 MB for new objects, a busy daemon copies fewer of those
 * that live for one turn. An idle daemon takes no more memory.
 */
export const nodeFlags = ["--max-semi-space-size=32"];

/**
 * How long to look for the daemon that holds the lock before starting one again. A daemon that is starting will
 * answer; one that was just killed can hold the lock for a moment and never answers.
 */
const heldRoundsMs = [limits.startWaitMs * 0.05, limits.startWaitMs * 0.15, limits.startWaitMs * 0.8];

/**
 * Connects to the daemon and starts one if none runs. Many processes may call it at once: one of their programs
 * becomes the daemon, and all connect to it. Throws `StartFailed` with the daemon's own words, `TimedOut` if the daemon
 * still reads its journal after `waitMs` (it continues), and the errors of `KiteClient.connect`.
 */
export async function ensureDaemon(options: LaunchOptions): Promise<Launched> {
  const { paths, name } = options;
  const connect = () => KiteClient.connect({ paths, ...(name === undefined ? {} : { name }) });
  const running = await unlessAbsent(connect);
  if (running !== null) return { started: false, client: running };
  for (const roundMs of heldRoundsMs) {
    const word = await start(options);
    if (word.is === "error") throw new StartFailed(word.sentence);
    if (word.is === "ready") return { started: true, client: await connect() };
    const client = await answering(connect, roundMs);
    if (client !== null) return { started: false, client };
  }
  throw new StartFailed(
    `another process holds ${paths.lockFile}, but no daemon answered for ${limits.startWaitMs / 1000} s; ` +
      `see ${paths.log} and \`kite doctor\``,
  );
}

/**
 * Returns the daemon's environment: the variables that it needs to run and to use people's language and time zone. It
 * holds no keys, no variables of the starting agent or shell, and no PATH entry that leads into a project.
 */
export function daemonEnvironment(env: LaunchOptions["env"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(env)) {
    const belongs = inherited.has(key) || key.startsWith("LC_") || key.startsWith("KITE_");
    if (value !== undefined && belongs && !callers.has(key)) kept[key] = value;
  }
  if (kept["PATH"] !== undefined) kept["PATH"] = searchPath(kept["PATH"]);
  return { ...kept, KITE_READY_FD: `${readyFd}`, UV_THREADPOOL_SIZE: "16" };
}

const inherited = new Set("PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR XDG_RUNTIME_DIR".split(" "));

/** Variables that name the starter's own session. */
const callers = new Set(["KITE_SESSION", "KITE_AGENT", "KITE_SOCKET"]);

/** Starts one process and waits for its ready line. */
async function start(options: LaunchOptions): Promise<Word> {
  const { paths, daemonProgram, env, unlessDown = false, waitMs = limits.startReadyMs } = options;
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const log = openLog(paths.log);
  try {
    const args = [...nodeFlags, daemonProgram, ...(unlessDown ? ["--unless-down"] : [])];
    const child = spawn(process.execPath, args, {
      detached: true,
      cwd: "/",
      env: daemonEnvironment(env),
      stdio: ["ignore", log, log, "pipe"],
    });
    return await wordOf(child, paths, waitMs);
  } finally {
    closeSync(log);
  }
}

/** Throws `StartFailed` if the log is no regular file: opening a pipe would block without end. */
function openLog(path: string): number {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    throw new StartFailed(
      `${path} is not a regular file, so the daemon has no log; move it away, then try again`,
    );
  }
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  fchmodSync(fd, 0o600);
  return fd;
}

function wordOf(child: ChildProcess, paths: KitePaths, waitMs: number): Promise<Word> {
  const pipe = child.stdio[readyFd];
  if (!(pipe instanceof Readable)) throw new Error("spawn gave no pipe for the ready line");
  let text = "";
  return new Promise<Word>((resolve, reject) => {
    const timer = setTimeout(() => {
      const still = `the daemon (pid ${child.pid}) is not ready after ${waitMs / 1000} s and is still starting`;
      reject(new TimedOut(`${still}; try again, or see ${paths.log}`));
    }, waitMs);
    const settle = (word: Word) => {
      clearTimeout(timer);
      resolve(word);
    };
    child.once("error", error =>
      settle({ is: "error", sentence: `cannot run ${child.spawnfile}: ${errorText(error)}` }),
    );
    pipe.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const word = text.includes("\n") ? wordIn(text.slice(0, text.indexOf("\n"))) : null;
      if (word !== null) settle(word);
    });
    // The daemon's exit closes the descriptor; the exit event says how it ended.
    child.once("exit", (code, signal) => {
      const how = signal === null ? `code ${code}` : signal;
      pipe.once("close", () => settle(ended(how, paths)));
      if (pipe.destroyed) settle(ended(how, paths));
    });
  }).finally(() => {
    pipe.destroy();
    child.unref();
  });
}

function wordIn(line: string): Word | null {
  if (line === "ready" || line === "held") return { is: line };
  if (line.startsWith("error ")) return { is: "error", sentence: line.slice("error ".length) };
  return null;
}

function ended(how: string, paths: KitePaths): Word {
  return { is: "error", sentence: `the daemon ended before it was ready (${how}); see ${paths.log}` };
}

/** Polls until a daemon answers or `forMs` are over, because nothing announces a new socket. */
async function answering(connect: () => Promise<KiteClient>, forMs: number): Promise<KiteClient | null> {
  const deadline = performance.now() + forMs;
  for (let pauseMs: number = limits.retryFirstMs; ; pauseMs = Math.min(pauseMs * 2, limits.retryPauseMaxMs)) {
    const client = await unlessAbsent(connect);
    if (client !== null || performance.now() >= deadline) return client;
    await delay(Math.min(pauseMs, deadline - performance.now()));
  }
}

/** Returns the client, or null if no daemon listens or the listening one is stopping. */
async function unlessAbsent(connect: () => Promise<KiteClient>): Promise<KiteClient | null> {
  try {
    return await connect();
  } catch (error) {
    if (error instanceof NotRunning || error instanceof ConnectionClosed) return null;
    throw error;
  }
}

// Stops a daemon and waits until its process has ended.

/**
 * Asks the daemon to stop and waits until its process has ended, so that the next start finds the lock free. With
 * `handover` the daemon tells its waiting clients to reconnect. Returns its refusal, or null once it has stopped;
 * throws `TimedOut` if it still runs after `waitMs`, by default twice its time to stop.
 */
export async function stopDaemon(
  client: Pick<KiteClient, "request" | "daemon" | "closed" | "close">,
  handover: boolean,
  waitMs = limits.shutdownMs * 2,
): Promise<Refusal | null> {
  const { pid } = client.daemon;
  try {
    const answer = await client.request("shutdown", handover ? { handover } : {});
    if (!answer.ok) return answer;
  } catch (error) {
    // The daemon may close before its answer is read; only the end of its process counts.
    if (!(error instanceof ConnectionClosed)) throw error;
  }
  const patience = new AbortController();
  const late = delay(waitMs, true, { signal: patience.signal }).catch(() => true);
  try {
    await Promise.race([client.closed, late]);
    // Only a parent is notified of a process's end, so this polls.
    for (let pauseMs = 1; isAlive(pid); pauseMs = Math.min(pauseMs * 2, 50)) {
      if (await Promise.race([late, delay(pauseMs, false)])) {
        throw new TimedOut(
          `the daemon (pid ${pid}) does not stop; see \`kite log\`, or end it: kill -9 ${pid}`,
        );
      }
    }
    return null;
  } finally {
    patience.abort();
    client.close();
  }
}

/** Returns true if the process runs; false for a zombie, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // ESRCH. EPERM cannot occur: our own user owns the socket.
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return process.platform !== "linux"; // Other systems have no /proc; on Linux the process ended between the two checks.
  }
}
