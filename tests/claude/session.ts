import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as z from "zod";
import { type Script, ScriptedModel } from "./model.ts";

/** A hook that the client ran, as it tells afterwards. */
export interface RanHook {
  readonly event: string;
  /** The event and what its matcher looked at: `PreToolUse:Edit`. */
  readonly name: string;
  readonly exitCode: number | null;
  readonly outcome: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SessionOptions {
  /** The client's program. */
  readonly program: string;
  /** A folder of its own, for its home and its log. */
  readonly folder: string;
  readonly cwd: string;
  readonly script: Script;
  /** What its teammates' models answer, by name. */
  readonly mates?: Readonly<Record<string, Script>>;
  /** Words for the client's command line, and variables. */
  readonly flags?: readonly string[];
  /** What its person says first; not in panes. */
  readonly prompt?: string;
  /** What its model answers beside the conversation, where the client asks for a title; "ok". */
  readonly aside?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A user's own settings. */
  readonly settings?: object;
  /** A session that is not over by then is ended; `sessionMs`. */
  readonly limitMs?: number;
}

const hookLine = z.object({
  subtype: z.literal("hook_response"),
  hook_event: z.string(),
  hook_name: z.string(),
  exit_code: z.number().nullable().default(null),
  outcome: z.string().default(""),
  stdout: z.string().default(""),
  stderr: z.string().default(""),
});

const sessionMs = 150_000;
export const apiKey = "dummy-key-of-a-test";

/** One session of the real client in print mode, with a model, a home and nothing of the surroundings. */
export class ClaudeSession {
  readonly id: string;
  readonly model: ScriptedModel;
  /** Resolves with its exit code; throws, with what it said, where it had to be ended. */
  readonly ended: Promise<number>;
  readonly hooks: RanHook[] = [];
  readonly #child: ChildProcess;
  readonly #log: string;
  #said = "";

  static async start(options: SessionOptions): Promise<ClaudeSession> {
    return new ClaudeSession(options, await ScriptedModel.start(options.script));
  }

  private constructor(options: SessionOptions, model: ScriptedModel) {
    const { program, folder, cwd, settings = {}, limitMs = sessionMs } = options;
    this.id = randomUUID();
    this.model = model;
    this.#log = join(folder, "client.log");
    mkdirSync(join(folder, ".claude"), { recursive: true });
    writeFileSync(join(folder, ".claude", "settings.json"), JSON.stringify(settings));
    const output = ["--output-format", "stream-json", "--verbose", "--include-hook-events"];
    const args = ["--session-id", this.id, ...output, "--debug-file", this.#log];
    this.#child = spawn(
      program,
      ["-p", options.prompt ?? "Do what the script says.", ...args, "--permission-mode", "acceptEdits"],
      {
        cwd,
        env: { ...environment(folder, model.url), ...options.env },
        stdio: ["ignore", "pipe", "pipe"],
        // A group of its own, so that what it started can be ended with it.
        detached: true,
      },
    );
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("spawn gave no pipes");
    this.#read(stdout);
    stderr.setEncoding("utf8").on("data", (chunk: string) => this.#note(chunk));
    this.ended = this.#end(limitMs);
    this.ended.then(
      code => model.over(new Error(`the session has ended with code ${code}; it said last:\n${this.#said}`)),
      (error: Error) => model.over(error),
    );
  }

  /** Resolves when the model has been asked `count` times; throws where the session is over before. */
  asked(count: number): Promise<void> {
    return this.model.asked(count);
  }

  /**
   * The hooks at the session's end, with their exit codes: they run when the client has said its last word, and are
   * in its log alone.
   */
  get lastHooks(): readonly Pick<RanHook, "name" | "exitCode">[] {
    const ends = readFileSync(this.#log, "utf8").matchAll(
      / (SessionEnd:\S+) \[.*\] completed with status (\d+)/g,
    );
    return [...ends].map(([, name = "", status]) => ({ name, exitCode: Number(status) }));
  }

  /** What the client wrote about itself. */
  get log(): string {
    return readFileSync(this.#log, "utf8");
  }

  /** Kills the client itself and nothing that it started; it has no time to tell anybody. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Ends the process and what it started, and the model. Harmless when it is over. */
  async dispose(): Promise<void> {
    this.#killAll();
    await Promise.allSettled([this.ended]);
    await this.model.close();
  }

  #read(stdout: Readable): void {
    createInterface({ input: stdout }).on("line", line => {
      this.#note(`${line}\n`);
      const hook = hookLine.safeParse(parsed(line)).data;
      if (hook === undefined) return;
      const { hook_event: event, hook_name: name, exit_code: exitCode, outcome } = hook;
      this.hooks.push({ event, name, exitCode, outcome, stdout: hook.stdout, stderr: hook.stderr });
    });
  }

  async #end(limitMs: number): Promise<number> {
    const closed = once(this.#child, "close");
    const timer = setTimeout(() => this.#killAll(), limitMs);
    const [code, signal] = await closed.finally(() => clearTimeout(timer));
    if (typeof code === "number") return code;
    throw new Error(`the session was ended by ${signal}; it said last:\n${this.#said}`);
  }

  #note(text: string): void {
    this.#said = (this.#said + text).slice(-4000);
  }

  #killAll(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, "SIGKILL");
  }
}

/** Nothing but where programs are and what the terminal is; whatever does not go to the model is refused there. */
export function environment(home: string, modelUrl: string): Record<string, string> {
  const { PATH = "", TERM = "dumb" } = process.env;
  const quiet = [
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "DISABLE_BUG_COMMAND",
  ];
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap(name => [name, name.toLowerCase()]);
  return {
    PATH,
    TERM,
    HOME: home,
    // Sockets and scratch files of the client: gone with the test.
    TMPDIR: home,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: apiKey,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ...Object.fromEntries(quiet.map(name => [name, "1"])),
    ...Object.fromEntries(proxies.map(name => [name, modelUrl])),
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The client's own words, not a message; they are kept for the error that ends the test.
    return null;
  }
}
