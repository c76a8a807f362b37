/** A simulated session of `kite demo`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Act, lineOf, type Stash } from "./acts.ts";

/** The demo's directories and hook client. */
export interface Stage {
  readonly repository: string;
  /** Runs git in the repository. */
  readonly git: (...args: readonly string[]) => Promise<unknown>;
  readonly home: string;
  /** The hook client, as an installed entry runs it: program and arguments. */
  readonly hook: readonly [string, ...string[]];
}

/**
 * One simulated session: a process that stands for the client, and the real hook client for each of its events. The
 * session edits real files. Its process ends when the demo's process ends.
 */
export class DemoSession {
  readonly name: string;
  readonly id: string;
  readonly #stage: Stage;
  readonly #process: ChildProcess;
  #prompts = 0;
  #uses = 0;

  constructor(stage: Stage, name: string) {
    this.name = name;
    this.id = name;
    this.#stage = stage;
    this.#process = spawn(process.execPath, ["-e", "process.stdin.resume()"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
  }

  async begin(): Promise<void> {
    await this.#event({ hook_event_name: "SessionStart", source: "startup" });
  }

  async prompt(): Promise<void> {
    this.#prompts += 1;
    await this.#event({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
  }

  /** Sends the hook event before an edit, edits the file if Kite allows it, then sends the event after it. */
  async edit(file: string): Promise<Act> {
    this.#uses += 1;
    const path = join(this.#stage.repository, file);
    const use = {
      tool_name: "Edit",
      tool_use_id: `toolu_${this.id}_${this.#uses}`,
      tool_input: { file_path: path, old_string: "end", new_string: `${this.name}\nend`, replace_all: false },
    };
    const said = await this.#event({ hook_event_name: "PreToolUse", ...use });
    const allowed = !said.includes('"deny"');
    if (allowed) {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace("end\n", `${lineOf(this.name)}\nend\n`));
      await this.#event({ hook_event_name: "PostToolUse", ...use, tool_response: {} });
    }
    return { who: this.name, file, allowed };
  }

  /** Sends the hook event before `git stash`, runs it if Kite lets it through, then sends the event after it. */
  async stash(): Promise<Stash> {
    this.#uses += 1;
    const use = {
      tool_name: "Bash",
      tool_use_id: `toolu_${this.id}_${this.#uses}`,
      tool_input: { command: "git stash" },
    };
    const said = await this.#event({ hook_event_name: "PreToolUse", ...use });
    const allowed = !said.includes('"deny"');
    if (allowed) {
      await this.#stage.git("stash");
      await this.#event({ hook_event_name: "PostToolUse", ...use, duration_ms: 1, tool_response: {} });
    }
    return { who: this.name, allowed };
  }

  async stop(): Promise<void> {
    await this.#event({ hook_event_name: "Stop", stop_hook_active: false, background_tasks: [] });
  }

  async end(): Promise<void> {
    await this.#event({ hook_event_name: "SessionEnd", reason: "prompt_input_exit" });
    await this.kill();
  }

  /** Kills the process without an event, as a closed terminal or a crash does. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
  }

  /** Runs the hook client with one event on its standard input; returns what it printed. */
  async #event(fields: Readonly<Record<string, unknown>>): Promise<string> {
    const { repository, home, hook } = this.#stage;
    const prompt = this.#prompts === 0 ? {} : { prompt_id: `prompt-${this.id}-${this.#prompts}` };
    const event = { session_id: this.id, cwd: repository, permission_mode: "default", ...prompt, ...fields };
    const [program, ...args] = hook;
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      KITE_HOME: home,
      CLAUDE_PID: `${this.#process.pid}`,
    };
    const client = spawn(program, args, { cwd: repository, env, stdio: ["pipe", "pipe", "inherit"] });
    let said = "";
    client.stdout.on("data", chunk => {
      said += String(chunk);
    });
    // A hook client that fails open may not read all of it: only its answer counts.
    client.stdin.on("error", () => {});
    client.stdin.end(JSON.stringify(event));
    await once(client, "close");
    return said;
  }
}
