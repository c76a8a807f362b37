/**
 * A day of four sessions in some seconds: the hooks of a client and requests of agents, against a real daemon and a real
 * repository. At its end alice and bob are at work, carol and dave have ended. Views of the page are looked at with it.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Home, Message } from "../end-to-end/daemon.ts";

const idOf = {
  alice: "a11ce000-0000-4000-8000-000000000001",
  bob: "b0b00000-0000-4000-8000-000000000002",
  carol: "ca501000-0000-4000-8000-000000000003",
  dave: "da7e0000-0000-4000-8000-000000000004",
} as const;

export type Worker = keyof typeof idOf;

/** How long a piece of work takes: what makes a bar on a screen. */
const workMs = 400;

/** Plays the day; returns what the guard said to dave. */
export async function playDay(home: Home): Promise<string> {
  const day = new Day(home);
  await day.morning();
  await day.noon();
  const denial = await day.afternoon();
  await day.evening();
  return denial;
}

class Day {
  readonly #home: Home;
  readonly #tasks: string[] = [];
  #uses = 0;

  constructor(home: Home) {
    this.#home = home;
  }

  /** All begin; there is a plan; each takes a file of its own. */
  async morning(): Promise<void> {
    this.#repository();
    for (const name of Object.keys(idOf) as Worker[]) await this.#begin(name);
    for (const [description, after] of [
      ["Write the schema", []],
      ["Build the API", [0]],
      ["Build the page", [1]],
      ["Write the manual", []],
    ] as const)
      await this.#task(description, after);
    await this.#hook("alice", "UserPromptSubmit", { prompt: "build the API" });
    await this.#ask("alice", { type: "task_claim", task: this.#tasks[0] ?? "" });
    await this.#ask("dave", { type: "task_claim", task: this.#tasks[3] ?? "" });
    await this.#edit("alice", "src/schema.ts");
    await this.#edit("dave", "docs/manual.md");
    await this.#hook("alice", "Stop");
    await this.#ask("alice", { type: "task_update", task: this.#tasks[0] ?? "", status: "done" });
  }

  /** Three want one file: one has it, two wait in line, and one gives up on another. */
  async noon(): Promise<void> {
    for (const name of ["alice", "bob", "carol"] as const)
      await this.#hook(name, "UserPromptSubmit", { prompt: "go on" });
    await this.#ask("alice", { type: "task_claim", task: this.#tasks[1] ?? "" });
    const done = await this.#beginEdit("alice", "src/api.ts");
    const bobs = this.#edit("bob", "src/api.ts");
    await this.#waiting("bob");
    const carols = this.#edit("carol", "src/api.ts");
    await this.#waiting("carol");
    await this.#ask("alice", { type: "file_lock", file: "src/db.ts", cwd: this.#home.work });
    await this.#refused("dave", {
      type: "file_lock",
      file: "src/db.ts",
      cwd: this.#home.work,
      waitMs: workMs,
    });
    await this.#ask("bob", { type: "message_send", to: "alice", text: "May I have src/api.ts?" });
    await done();
    await this.#hook("alice", "Stop");
    await bobs;
    await this.#hook("bob", "Stop");
    await carols;
    await this.#hook("carol", "Stop");
    await this.#ask("alice", { type: "file_unlock", file: "src/db.ts", cwd: this.#home.work });
  }

  /** dave would stash the work of all, which the guard denies. */
  async afternoon(): Promise<string> {
    await this.#ask("carol", { type: "context_set", key: "port", value: 5432 });
    await this.#ask("carol", { type: "broadcast", message: "The API listens on 5432" });
    await this.#hook("dave", "UserPromptSubmit", { prompt: "clean up" });
    const call = { tool_name: "Bash", tool_input: { command: "git stash" }, tool_use_id: "stash" };
    const denial = await this.#hook("dave", "PreToolUse", call);
    await this.#hook("dave", "Stop");
    await this.#edit("bob", "src/page.ts");
    return denial;
  }

  /** carol and dave end, the others go on. */
  async evening(): Promise<void> {
    await this.#ask("dave", { type: "task_update", task: this.#tasks[3] ?? "", status: "done" });
    for (const name of ["carol", "dave"] as const) await this.#hook(name, "SessionEnd", { reason: "other" });
    await this.#beginEdit("alice", "src/api.ts");
    // It waits until this daemon ends.
    const client = await this.#home.connect();
    client.send(this.#event("bob", "PreToolUse", this.#write("src/api.ts")));
    await this.#waiting("bob");
  }

  #repository(): void {
    const { work, root } = this.#home;
    for (const file of ["src/api.ts", "src/db.ts", "src/schema.ts", "src/page.ts", "docs/manual.md"])
      this.#put(file, `${file}\n`);
    const who = {
      GIT_AUTHOR_NAME: "t",
      GIT_AUTHOR_EMAIL: "t@t",
      GIT_COMMITTER_NAME: "t",
      GIT_COMMITTER_EMAIL: "t@t",
    };
    const env = { PATH: process.env["PATH"] ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1", ...who };
    for (const args of [
      ["init", "-q", "-b", "main"],
      ["add", "-A"],
      ["commit", "-qm", "first"],
    ])
      execFileSync("git", args, { cwd: work, env });
  }

  #put(file: string, text: string): void {
    const path = join(this.#home.work, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  async #begin(name: Worker): Promise<void> {
    await this.#hook(name, "SessionStart", { source: "startup" });
    await this.#ask(name, { type: "register", cwd: this.#home.work, name });
  }

  /** Sends an event of the client; returns the answer that its agent reads. */
  async #hook(name: Worker, event: string, more: Message = {}): Promise<string> {
    const client = await this.#home.connect();
    const reply = await client.ask(this.#event(name, event, more));
    client.destroy();
    if (reply["ok"] !== true) throw new Error(`${name}, ${event}: ${JSON.stringify(reply)}`);
    return String(reply["output"]);
  }

  #event(name: Worker, event: string, more: Message): Message {
    const { work: cwd, root } = this.#home;
    const fields = { session_id: idOf[name], cwd, prompt_id: "p", hook_event_name: event };
    return { type: "hook", event: { ...fields, ...more }, env: { HOME: root } };
  }

  #write(file: string): Message {
    this.#uses += 1;
    const tool_input = { file_path: join(this.#home.work, file) };
    return { tool_name: "Write", tool_input, tool_use_id: `use-${this.#uses}` };
  }

  async #ask(name: Worker, request: Message): Promise<Message> {
    const reply = await this.#reply(name, request);
    if (reply["ok"] !== true) throw new Error(`${name} was refused: ${JSON.stringify(reply)}`);
    return reply;
  }

  async #refused(name: Worker, request: Message): Promise<void> {
    const reply = await this.#reply(name, request);
    if (reply["ok"] === true) throw new Error(`${name} was not refused: ${JSON.stringify(request)}`);
  }

  async #reply(name: Worker, request: Message): Promise<Message> {
    const client = await this.#home.connect();
    const reply = await client.ask({ id: idOf[name], ...request });
    client.destroy();
    return reply;
  }

  async #task(description: string, after: readonly number[]): Promise<void> {
    const dependsOn = after.map(n => this.#tasks[n] ?? "");
    const { task } = await this.#ask("alice", { type: "task_create", description, dependsOn });
    this.#tasks.push((task as { readonly id: string }).id);
  }

  /** Asks for the file, which may wait; returns what ends the edit. */
  async #beginEdit(name: Worker, file: string): Promise<() => Promise<void>> {
    const call = this.#write(file);
    await this.#hook(name, "PreToolUse", call);
    return async () => {
      await passes(workMs);
      this.#put(file, `${name} in ${file}\n`);
      await this.#hook(name, "PostToolUse", { tool_response: {}, ...call });
    };
  }

  async #edit(name: Worker, file: string): Promise<void> {
    const done = await this.#beginEdit(name, file);
    await done();
  }

  /** Resolves when the agent waits for a file. */
  async #waiting(name: Worker): Promise<void> {
    const client = await this.#home.connect();
    const isWaiting = async () => {
      const reply = await client.ask({ rid: 1, type: "query", target: "locks" });
      const rows = reply["rows"] as readonly { readonly waiters: readonly { readonly id: string }[] }[];
      return rows.some(({ waiters }) => waiters.some(({ id }) => id === idOf[name]));
    };
    await client.ask({ rid: 0, type: "subscribe" });
    // A wait that began before the subscription has no event any more.
    if (!(await isWaiting())) await client.event("lock_queued", event => waiterIn(event) === idOf[name]);
    client.destroy();
  }
}

function waiterIn(event: Message): unknown {
  return (event["waiter"] as { readonly id: string } | undefined)?.id;
}

/** Resolves when a piece of work would have been done: nothing is waited for but time. */
function passes(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
