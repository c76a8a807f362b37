/** A real repository with branches in worktrees of their own, a daemon, and `kite merge`. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import { type Client, Home } from "./daemon.ts";

export const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
const identity = { name: "t", email: "t@example.org" };

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class MergeHome extends Home {
  readonly repo = join(this.work, "shop");
  #client: Client | null = null;

  override get environment(): Record<string, string> {
    const { name, email } = identity;
    const author = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email };
    return { ...super.environment, ...author, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  }

  /** The repository with one commit on main, and a daemon. */
  async prepare(): Promise<void> {
    mkdirSync(join(this.repo, ".kite"), { recursive: true });
    this.git(this.repo, "init", "-q", "-b", "main");
    this.write(this.repo, { "a.ts": "a\n", ".gitignore": ".kite/\n" });
    this.commit(this.repo, "first");
    await this.start();
    await this.reconnect();
  }

  get client(): Client {
    if (this.#client === null) throw new Error("not begun");
    return this.#client;
  }

  async reconnect(): Promise<void> {
    this.#client = await this.connect();
    await this.#client.ask({ type: "subscribe", events: ["merge_changed"] });
  }

  /** Resolves when the merge of the branch gets this state. */
  async becomes(branch: string, state: string): Promise<void> {
    await this.client.event(
      "merge_changed",
      event => event["branch"] === `refs/heads/${branch}` && event["state"] === state,
    );
  }

  git(cwd: string, ...args: string[]): string {
    return execFileSync("git", args, { cwd, env: this.environment, stdio: "pipe", encoding: "utf8" });
  }

  write(folder: string, files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  }

  commit(folder: string, message: string): void {
    this.git(folder, "add", "-A");
    this.git(folder, "commit", "-qm", message);
  }

  tree(name: string): string {
    return join(this.work, `shop-${name}`);
  }

  /** A branch in a worktree of its own, with one commit that writes these files. */
  branch(name: string, files: Readonly<Record<string, string>>): string {
    const folder = this.tree(name);
    this.git(this.repo, "worktree", "add", "-q", "-b", name, folder, "main");
    this.write(folder, files);
    this.commit(folder, name);
    return folder;
  }

  /** A session called `name` in the worktree of the branch `name`. */
  async author(name: string, cwd = this.tree(name)): Promise<void> {
    const reply = await this.client.ask({ type: "register", id: `id-${name}`, name, cwd });
    expect(reply["ok"]).toBe(true);
  }

  /** Names checks, which a person trusts. */
  async trust(checks: Readonly<Record<string, string>>): Promise<void> {
    const named = Object.entries(checks).map(([name, command]) => [name, { command }]);
    const text = JSON.stringify({ checks: Object.fromEntries(named) });
    writeFileSync(join(this.repo, ".kite", "config.json"), text);
    expect(await this.merge(["trust", "--yes"]).done).toMatchObject({ code: 0 });
  }

  /** Runs `kite` with these words in the repository. */
  merge(
    words: readonly string[],
    more: { readonly env?: Record<string, string>; readonly cwd?: string; readonly shell?: string } = {},
  ): { readonly child: ChildProcess; readonly done: Promise<Ended> } {
    const env = { ...this.environment, ...more.env };
    const { cwd = this.repo, shell } = more;
    const [file, args]: [string, string[]] =
      shell === undefined
        ? [process.execPath, [program, ...words]]
        : ["/bin/sh", ["-c", `${shell}; exec "$@"`, "sh", process.execPath, program, ...words]];
    const child = this.adopt(spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] }));
    const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
    const done = once(child, "close").then(([code]): Ended => ({ code, out: out(), err: err() }));
    return { child, done };
  }

  async run(words: readonly string[], more: Parameters<MergeHome["merge"]>[1] = {}): Promise<Ended> {
    return this.merge(["merge", ...words], more).done;
  }

  async rows(): Promise<readonly MergeRow[]> {
    const { rows } = await this.client.ask({ type: "query", target: "merges" });
    return rows as MergeRow[];
  }

  /** Each merge by its branch and state. */
  async states(): Promise<readonly string[]> {
    return (await this.rows()).map(({ branch, state }) => `${branch.slice("refs/heads/".length)} ${state}`);
  }

  /** What is left of tries: folders, and git's notes of them. */
  get leftovers(): readonly string[] {
    const folders = existsSync(this.paths.merges) ? readdirSync(this.paths.merges) : [];
    const noted = this.git(this.repo, "worktree", "list").split("\n");
    return [...folders, ...noted.filter(line => line.includes(this.paths.merges))];
  }

  /** The subjects of main's commits along its first parents, the latest first. */
  get history(): readonly string[] {
    return this.git(this.repo, "log", "--first-parent", "--format=%s", "main").trim().split("\n");
  }

  /** A check that waits at `lost` when it runs first, for a command that is killed then, and at `gate` ever after. */
  gates(): { readonly lost: Gate; readonly gate: Gate; readonly command: string } {
    const [lost, gate] = [this.gate("lost"), this.gate()];
    const isFirst = `mkdir ${join(this.work, "ran")} 2>/dev/null`;
    return { lost, gate, command: `if ${isFirst}; then ${lost.command}; else ${gate.command}; fi` };
  }

  /** A check that waits. Its name tells it from others. */
  gate(name = "gate"): Gate {
    const [begun, end] = ["begun", "end"].map(side => {
      const path = join(this.work, `${name}-${side}`);
      if (!existsSync(path)) execFileSync("mkfifo", [path]);
      return path;
    }) as [string, string];
    return {
      command: `echo > ${begun}; read line < ${end}`,
      begun: () => throughFifo(begun, "r"),
      end: () => throughFifo(end, "w"),
    };
  }
}

/** A check that waits: `begun` resolves when it runs, `end` lets it go on. */
interface Gate {
  readonly command: string;
  readonly begun: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Reads one line of a pipe, or writes one: whoever comes first waits for the other side. */
async function throughFifo(path: string, how: "r" | "w"): Promise<void> {
  const file = await open(path, how);
  if (how === "r") await file.read();
  else await file.write("\n");
  await file.close();
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  return () => text;
}
