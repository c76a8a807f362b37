import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ScriptedModel } from "./model.ts";
import { apiKey, environment, type SessionOptions } from "./session.ts";

const sessionMs = 150_000;

/** One session of the real client as a person has it, in a terminal of its own (by util-linux's `script`). */
export class InteractiveSession {
  readonly id = randomUUID();
  readonly model: ScriptedModel;
  /** Resolves with its exit code; throws, with what was on the screen, where it had to be ended. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #said = "";
  /** What came since a line was typed, and what is waited for in it. */
  #since = "";
  #wanted: { readonly text: string; readonly resolve: () => void } | null = null;

  /** Begins with a first prompt. The person has been here before: no question comes first. */
  static async start(options: SessionOptions): Promise<InteractiveSession> {
    const { script, mates, aside } = options;
    return new InteractiveSession(options, await ScriptedModel.start(script, mates, aside));
  }

  private constructor(
    { program, folder, cwd, settings = {}, limitMs, flags = [], env = {}, prompt = "Do it." }: SessionOptions,
    model: ScriptedModel,
  ) {
    this.model = model;
    prepareHome(folder, cwd, settings);
    const words = [program, "--session-id", this.id, "--permission-mode", "acceptEdits", ...flags, prompt];
    const line = `stty cols 120 rows 40; exec ${words.map(word => `'${word}'`).join(" ")}`;
    this.#child = spawn("script", ["-qfec", line, "/dev/null"], {
      cwd,
      env: { ...environment(folder, model.url), TERM: "xterm", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#note(text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#note(text));
    // A terminal that is gone is told by the exit code.
    this.#child.stdin?.on("error", () => undefined);
    this.ended = this.#end(limitMs ?? sessionMs);
    this.ended.then(
      code => model.over(new Error(`the session has ended with code ${code}; it said last:\n${this.#said}`)),
      (error: Error) => model.over(error),
    );
  }

  /** Resolves when the model has been asked `count` times; throws where the session is over before. */
  asked(count: number): Promise<void> {
    return this.model.asked(count);
  }

  /** Types a line, and sends it off when it is on the screen. */
  async type(line: string): Promise<void> {
    const shown = new Promise<void>(resolve => {
      this.#wanted = { text: line, resolve };
    });
    this.#since = "";
    this.#child.stdin?.write(line);
    await shown;
    this.#child.stdin?.write("\r");
  }

  /** Presses keys that show nothing by themselves. */
  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Resolves when the text comes to the screen, from now on; blanks do not count. */
  async shows(text: string): Promise<void> {
    if (onScreen(this.#since).includes(onScreen(text))) return;
    await new Promise<void>(resolve => {
      this.#wanted = { text, resolve };
    });
  }

  /** Closes the terminal, which ends the client, and the model. Harmless when it is over. */
  async dispose(): Promise<void> {
    this.#close();
    await Promise.allSettled([this.ended]);
    await this.model.close();
  }

  async #end(limitMs: number): Promise<number> {
    const closed = once(this.#child, "close");
    const timer = setTimeout(() => this.#close(), limitMs);
    const [code, signal] = await closed.finally(() => clearTimeout(timer));
    if (typeof code === "number") return code;
    throw new Error(`the terminal was closed by ${signal}; it showed last:\n${this.#said}`);
  }

  #note(text: string): void {
    this.#said = (this.#said + text).slice(-4000);
    this.#since = (this.#since + text).slice(-20_000);
    if (this.#wanted !== null && onScreen(this.#since).includes(onScreen(this.#wanted.text))) {
      this.#wanted.resolve();
      this.#wanted = null;
    }
  }

  #close(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) this.#child.kill("SIGTERM");
  }
}

/** The text without what moves the cursor and colours it, and without blanks: they are moves as well. */
function onScreen(text: string): string {
  return text.replaceAll(/\p{Cc}\[[0-9;?]*[A-Za-z]|\s/gu, "");
}

/** A home of the client whose person has answered its first questions. */
export function prepareHome(folder: string, cwd: string, settings: object): void {
  mkdirSync(join(folder, ".claude"), { recursive: true });
  writeFileSync(join(folder, ".claude", "settings.json"), JSON.stringify(settings));
  const own = join(folder, ".claude.json");
  const before = existsSync(own) ? JSON.parse(readFileSync(own, "utf8")) : {};
  writeFileSync(own, JSON.stringify(answeredBefore(cwd, before)));
}

/** What the client asks at its first start, and keeps. */
export function answeredBefore(cwd: string, before: { readonly projects?: Record<string, object> }): object {
  const answered = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
  return {
    ...before,
    hasCompletedOnboarding: true,
    theme: "dark",
    customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
    projects: { ...before.projects, [cwd]: { ...before.projects?.[cwd], ...answered } },
  };
}
