/**
 * The plugin's way to the daemon: one connection an event, over the same socket and with the same bounds as the hook
 * clients (`hooks/client/hook.ts`). It runs within the agent's client, so it loads only modules of Node.
 *
 * Invariants: it never throws and never waits without an end. Whatever fails, there is no answer, and the agent continues.
 */
import { spawn } from "node:child_process";
import { existsSync, lstatSync } from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import type { limits } from "../../../protocol/limits.ts";
import { mountsHere } from "../../client/mounts.ts";
import { leaveEnd } from "../../client/unheard-end.ts";
import type { Words } from "../../clients/clients.ts";

// Literal types of the protocol's own bounds: a different number here does not compile.
const firstByteMs: typeof limits.firstByteMs = 1_000;
const briefMs: typeof limits.hookBriefMs = 100;
const reconnectMs: typeof limits.reconnectMs = 5_000;
const retryMs: typeof limits.hookRetryMs = 50;
const failuresMax: typeof limits.hookFailuresMax = 3;
const windowMs: typeof limits.hookFailuresWindowMs = 60_000;
const pauseMs: typeof limits.hookPauseMs = 30_000;
const lineBytes: typeof limits.hookLineBytes = 32 * 1024 * 1024;
const replyChars: typeof limits.lineBytes = 1024 * 1024;

/** By this name the daemon knows the adapter. */
const client = "opencode";

type Env = Readonly<Record<string, string | undefined>>;

/** One event for the daemon. */
export interface Sent {
  readonly event: Readonly<Record<string, unknown>>;
  /** The longest time until the answer, in milliseconds. */
  readonly budgetMs: number;
  /** Waits until something wakes the session. */
  readonly wake?: true;
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
}

/** `off`: Kite is off here, or was never installed. `unreached`: no daemon answered. `aborted`: by the signal. */
export type Reply =
  | { readonly is: "answer"; readonly words: Words }
  | { readonly is: "off" | "unreached" | "aborted" };

export class Link {
  readonly #env: Env;
  readonly #home: string;
  readonly #failures: number[] = [];
  /** A launcher runs; all events that begin something wait for this one. */
  #starting: Promise<void> | null = null;

  constructor(env: Env) {
    this.#env = env;
    this.#home = env["KITE_HOME"] || `${env["HOME"] || homedir()}/.kite`;
  }

  /** Kite's own directory. */
  get home(): string {
    return this.#home;
  }

  /** Sends an event; resolves with what the daemon answers, or why there is no answer. Then the next daemon hears of an end. */
  async send(sent: Sent): Promise<Reply> {
    const reply = await this.#try(sent);
    if (reply.is === "unreached" && sent.wake !== true)
      quietly(() => leaveEnd(this.#home, JSON.stringify(sent.event), client, process.pid));
    return reply;
  }

  async #try(sent: Sent): Promise<Reply> {
    try {
      const folder = mine(this.#home);
      if (
        !this.#home.startsWith("/") ||
        !folder?.isDirectory() ||
        (folder.mode & 0o022) !== 0 ||
        this.#isOff()
      )
        return { is: "off" };
      const kind = sent.event["hook_event_name"];
      const isBeforeTool = kind === "PreToolUse";
      const isPaused = this.#isPaused();
      if (isPaused && !isBeforeTool) return { is: "unreached" };
      const begins = kind === "SessionStart" || kind === "UserPromptSubmit";
      const patienceMs = isPaused ? briefMs : firstByteMs;
      const request = this.#requestLine(sent);
      const deadline = Date.now() + sent.budgetMs;
      let lostAt: number | null = null;
      for (let tries = 0; ; tries++) {
        const path = `${this.#home}/kite.sock`;
        const tried = mine(path)?.isSocket()
          ? await attempt(path, request, { patienceMs, leftMs: deadline - Date.now(), signal: sent.signal })
          : "absent";
        if (typeof tried === "object") {
          this.#failures.length = 0;
          return { is: "answer", words: tried };
        }
        if (tried === "aborted") return { is: "aborted" };
        if (tried === "refused") return { is: "unreached" };
        if (tried === "absent") {
          if (lostAt === null && (tries > 0 || !begins || !(await this.#start(deadline))))
            return { is: "unreached" };
        } else if (tried === "silent") {
          if (sent.wake !== true) this.#failures.push(Date.now());
          return { is: "unreached" };
        } else lostAt ??= Date.now();
        if (Date.now() >= deadline || (lostAt !== null && Date.now() - lostAt >= reconnectMs))
          return { is: "unreached" };
        await pause(retryMs, sent.signal);
      }
    } catch {
      // Whatever a file system or an odd event does to it: the agent continues.
      return { is: "unreached" };
    }
  }

  /** Whether `kite off` is in force: its file is empty, or valid until its own modification time. */
  #isOff(): boolean {
    if (this.#env["KITE"] === "off") return true;
    const stat = lstatSync(`${this.#home}/off`, { throwIfNoEntry: false });
    return stat?.isFile() === true && (stat.size === 0 || stat.mtimeMs > Date.now());
  }

  /** Three failures within a minute: for half a minute only calls of tools ask, and briefly. */
  #isPaused(): boolean {
    const [first, newest] = [this.#failures.at(-failuresMax), this.#failures.at(-1)];
    if (first === undefined || newest === undefined) return false;
    const socket = lstatSync(`${this.#home}/kite.sock`, { throwIfNoEntry: false });
    if (socket !== undefined && socket.mtimeMs > newest) return false;
    return newest - first <= windowMs && Date.now() - newest < pauseMs;
  }

  /** Runs the launcher of `kite install`; resolves with false if there is none. */
  async #start(deadline: number): Promise<boolean> {
    const program = `${this.#home}/bin/start`;
    if (!existsSync(program)) return false;
    this.#starting ??= new Promise<void>(resolve => {
      const child = spawn(program, { detached: true, stdio: "ignore" });
      child.on("error", () => resolve());
      child.on("exit", () => resolve());
      child.unref();
    }).finally(() => {
      this.#starting = null;
    });
    await Promise.race([this.#starting, pause(deadline - Date.now())]);
    return true;
  }

  #requestLine({ event, wake }: Sent): string {
    const { HOME, KITE_SPAWN } = this.#env;
    const env = { ...(HOME ? { HOME } : {}), ...(KITE_SPAWN ? { KITE_SPAWN } : {}) };
    const mounts = mountsHere(this.#home, this.#env["KITE_MOUNTS"]);
    const line = `${JSON.stringify({
      type: "hook",
      event,
      env,
      ppid: process.pid,
      client,
      ...(wake ? { wake } : {}),
      ...(mounts === null ? {} : { mounts }),
    })}\n`;
    if (Buffer.byteLength(line) > lineBytes) throw new RangeError("the event is too long");
    return line;
  }
}

/** Does what may fail without changing the outcome. */
function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // The folder cannot be written; the daemon ends these things with the process.
  }
}

/** Returns the file's stat, without following links, if this user owns it. */
function mine(path: string) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.uid === process.getuid?.() ? stat : undefined;
}

interface Patience {
  readonly patienceMs: number;
  readonly leftMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Connects once. `absent`: nobody listens. `silent`: the daemon said nothing in time. `lost`: the connection ended before the
 * answer, or the daemon restarts. `refused`: the daemon does not take the event.
 */
function attempt(
  path: string,
  request: string,
  { patienceMs, leftMs, signal }: Patience,
): Promise<Words | "absent" | "silent" | "lost" | "refused" | "aborted"> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve("aborted");
    const socket = connect(path);
    let isConnected = false;
    let text = "";
    const end = (how: Awaited<ReturnType<typeof attempt>>) => {
      clearTimeout(silence);
      clearTimeout(budget);
      signal?.removeEventListener("abort", abort);
      socket.destroy();
      resolve(how);
    };
    const abort = () => end("aborted");
    const silence = setTimeout(end, patienceMs, "silent");
    const budget = setTimeout(end, Math.max(0, leftMs), "silent");
    signal?.addEventListener("abort", abort);
    socket.setEncoding("utf8");
    socket.on("connect", () => {
      isConnected = true;
      socket.write(request);
    });
    socket.on("error", () => end(isConnected ? "lost" : "absent"));
    socket.on("close", () => end("lost"));
    socket.on("data", (chunk: string) => {
      clearTimeout(silence);
      text += chunk;
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n")) {
        const line = text.slice(0, at).trim();
        text = text.slice(at + 1);
        // A blank line says that the daemon is at work on it.
        if (line === "" || line.startsWith('{"type":"event",')) continue;
        return end(wordsOf(line));
      }
      if (text.length > 2 * replyChars) end("refused");
    });
  });
}

/** Returns what one line of the daemon says. */
function wordsOf(line: string): Words | "lost" | "refused" {
  try {
    const reply: unknown = JSON.parse(line);
    const { ok, code, output } = reply as Record<string, unknown>;
    if (ok !== true) return code === "restarting" ? "lost" : "refused";
    return typeof output === "string" && output !== "" ? JSON.parse(output) : {};
  } catch {
    // Not the daemon's form: another program listens there.
    return "refused";
  }
}

/** Resolves after a while, or at once when nobody waits any more. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, Math.max(0, ms));
    signal?.addEventListener("abort", over);
  });
}
