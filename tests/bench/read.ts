/** What an agent reads of Kite in ten edits beside two peers, in characters: with gates off, as a team has them, strict. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bench } from "./processes.ts";
import { plain, type Tables, table } from "./report.ts";
import { shownOf } from "./shown.ts";
import { ask } from "./talk.ts";

/** The files of ann's edits, and which peer changes one of her files behind which of them. */
const edits = ["a", "b", "c", "a", "d", "b", "e", "c", "a", "f"] as const;
const peerEdits: readonly (readonly [after: number, peer: string, file: string])[] = [
  [-1, "bob", "a"],
  [2, "carl", "b"],
  [3, "bob", "a"],
  [4, "bob", "a"],
  [7, "carl", "c"],
  [8, "carl", "c"],
];
/** What ann knows that she will change when she is asked; the last file comes up later. */
const planned = ["a", "b", "c", "d", "e"];

export async function* read(): Tables {
  for (const gates of ["off", "team", "strict"]) {
    const texts = await textsRead(gates);
    if (process.env["KITE_BENCH_TEXTS"] !== undefined) process.stderr.write(`${texts.join("\n---\n")}\n\n`);
    yield table(`characters that an agent reads in ten edits beside two peers, gates ${gates}`, [
      plain("all", texts.join("").length),
      plain("the longest", Math.max(0, ...texts.map(({ length }) => length))),
      plain("texts", texts.length),
    ]);
  }
}

async function textsRead(gates: string): Promise<readonly string[]> {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    mkdirSync(join(cwd, ".kite"));
    writeFileSync(join(cwd, ".kite", "config.json"), JSON.stringify({ gates }));
    // Peers wait for locks of ann's turn: how long changes no text.
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "config.json"), JSON.stringify({ yieldMs: 50 }));
    await bench.start("kite-daemon", [home, "file"]);
    return await new Project(join(home, "kite.sock"), cwd).play();
  } finally {
    await bench.end();
  }
}

/** Three agents of one worktree, whose hooks come one after the other. */
class Project {
  readonly #socket: string;
  readonly #cwd: string;
  #calls = 0;

  constructor(socket: string, cwd: string) {
    this.#socket = socket;
    this.#cwd = cwd;
  }

  async play(): Promise<readonly string[]> {
    for (const peer of ["bob", "carl"]) {
      await this.#event(peer, "SessionStart", { source: "startup" });
      await this.#declare(peer, peer === "bob" ? ["a"] : ["b", "c"]);
    }
    const read = [await this.#event("ann", "SessionStart", { source: "startup" })];
    read.push(await this.#event("ann", "UserPromptSubmit", { prompt: "go on", prompt_id: "p-ann" }));
    await this.#peersEdit(-1);
    for (const [n, file] of edits.entries()) {
      read.push(...(await this.#annEdits(file)));
      await this.#peersEdit(n);
    }
    read.push(await this.#event("ann", "Stop", { background_tasks: [] }));
    return read.filter(text => text !== "");
  }

  /** An edit that was refused, or warned of, is followed by what it asks for. */
  async #annEdits(file: string): Promise<readonly string[]> {
    const read: string[] = [];
    for (let isRefused = true; isRefused; ) {
      const use = this.#use(file);
      const text = await this.#event("ann", "PreToolUse", use);
      isRefused = text.includes("did not run");
      if (/asks you for/.test(text)) await this.#declare("ann", planned.includes(file) ? planned : [file]);
      read.push(text);
      if (!isRefused) read.push(await this.#event("ann", "PostToolUse", use));
    }
    return read;
  }

  async #peersEdit(now: number): Promise<void> {
    for (const [after, peer, file] of peerEdits) {
      if (after !== now) continue;
      const use = this.#use(file);
      await this.#event(peer, "PreToolUse", use);
      await this.#event(peer, "PostToolUse", use);
      await this.#event(peer, "Stop", { background_tasks: [] });
    }
  }

  async #declare(id: string, files: readonly string[]): Promise<void> {
    const codeView = files.map(name => ({
      file: this.#path(name),
      sees: `${name} as it is`,
      will: "page it",
    }));
    const understanding = { task: "Page the lists", confidence: 0.7, reason: "It is small", plan: ["Page"] };
    const identity = { role: "implementer" };
    await ask(this.#socket, [{ type: "declare", id, identity, understanding, codeView }]);
  }

  #path(file: string): string {
    return join(this.#cwd, "src", "part-0", `${file}.ts`);
  }

  #use(file: string): object {
    this.#calls += 1;
    const patch = [{ oldStart: 3, oldLines: 2, newStart: 3, newLines: 2, lines: ["-a", "-b", "+c", "+d"] }];
    return {
      tool_name: "Edit",
      tool_use_id: `toolu_${this.#calls}`,
      tool_input: { file_path: this.#path(file) },
      tool_response: { structuredPatch: patch },
    };
  }

  async #event(id: string, name: string, more: object): Promise<string> {
    const event = { hook_event_name: name, session_id: id, cwd: this.#cwd, prompt_id: `p-${id}`, ...more };
    const [reply = {}] = await ask(this.#socket, [{ type: "hook", event, ppid: process.pid }]);
    return shownOf(reply);
  }
}
