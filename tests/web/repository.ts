/** A repository in which agents of Claude Code work, as their hooks tell the daemon of a `Home`. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Home } from "../end-to-end/daemon.ts";

export class Repository {
  readonly home: Home;
  /** Its main worktree. */
  readonly top: string;
  #uses = 0;

  /** Makes a repository with these files committed. */
  constructor(home: Home, name: string, files: readonly string[]) {
    this.home = home;
    this.top = join(home.work, name);
    mkdirSync(this.top);
    for (const file of files) this.put(this.top, file, `${file}\n`);
    this.git(this.top, "init", "-q", "-b", "main");
    this.git(this.top, "add", "-A");
    this.git(this.top, "commit", "-qm", "first");
  }

  /** Adds a worktree on a branch of its own; returns its folder. */
  worktree(branch: string): string {
    const path = join(this.home.work, branch);
    this.git(this.top, "worktree", "add", "-q", "-b", branch, path);
    return path;
  }

  git(dir: string, ...args: readonly string[]): string {
    const who = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@t" };
    const by = { GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@t", GIT_CONFIG_NOSYSTEM: "1" };
    const env = { ...this.home.environment, ...who, ...by };
    return execFileSync("git", args, { cwd: dir, env, encoding: "utf8" });
  }

  put(dir: string, file: string, text: string): string {
    const path = join(dir, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** An agent begins in a worktree, under this name. */
  async begin(session: string, name: string, cwd: string): Promise<void> {
    await this.event(session, cwd, { hook_event_name: "SessionStart", source: "startup" });
    const client = await this.home.connect();
    const named = await client.ask({ type: "register", id: session, cwd, name });
    client.destroy();
    if (named["ok"] !== true) throw new Error(JSON.stringify(named));
  }

  /** One event of an agent's hooks; returns what its client is told. */
  async event(session_id: string, cwd: string, fields: object): Promise<string> {
    const client = await this.home.connect();
    const event = { session_id, cwd, prompt_id: "p", permission_mode: "default", ...fields };
    const reply = await client.ask({ type: "hook", event, env: { HOME: this.home.root } });
    client.destroy();
    if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
    return String(reply["output"]);
  }

  /** An agent writes a file with a tool, as its client tells it. */
  async write(session: string, dir: string, file: string, text: string): Promise<void> {
    const path = join(dir, file);
    await this.#tool(session, dir, "Write", { file_path: path, content: text }, () =>
      this.put(dir, file, text),
    );
  }

  /** An agent runs a shell line; `does` is what the line does. */
  async line(session: string, dir: string, command: string, does: () => void): Promise<void> {
    await this.#tool(session, dir, "Bash", { command }, does);
  }

  async #tool(session: string, dir: string, tool: string, input: object, does: () => void): Promise<void> {
    this.#uses += 1;
    const call = { tool_name: tool, tool_input: input, tool_use_id: `toolu_${this.#uses}` };
    const said = await this.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    if (said.includes('"deny"')) throw new Error(said);
    does();
    await this.event(session, dir, {
      hook_event_name: "PostToolUse",
      tool_response: {},
      duration_ms: 1,
      ...call,
    });
    await this.event(session, dir, { hook_event_name: "Stop" });
  }
}
