/** A repository with the daemon at home and a client that behaves as the real one was recorded. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import { type Client, Home } from "./daemon.ts";
import type { Ran } from "./kite.ts";

const program = fileURLToPath(new URL("../fixtures/fake-client/claude.mjs", import.meta.url));
const sessionState = z.object({ pid: z.number() });
const callLine = z.object({
  argv: z.array(z.string()),
  inherited: z.array(z.string()),
  cwd: z.string(),
});

export class SpawnWorld {
  readonly home = new Home();
  readonly #bin: string;

  constructor() {
    const { work } = this.home;
    this.#bin = join(dirname(work), "bin");
    mkdirSync(this.#bin);
    const file = join(this.#bin, "claude");
    writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
    chmodSync(file, 0o755);
    this.git("init", "-q", "-b", "main");
    writeFileSync(join(work, "a.ts"), "one\n");
    this.git("add", "a.ts");
    this.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first");
  }

  get environment(): Record<string, string> {
    const { environment } = this.home;
    const tmux = { TMUX_TMPDIR: dirname(this.home.work), TERM: "xterm" };
    return { ...environment, ...tmux, PATH: `${this.#bin}:${environment["PATH"] ?? ""}` };
  }

  git(...args: string[]): string {
    const env = { PATH: process.env["PATH"], HOME: dirname(this.home.work), GIT_CONFIG_NOSYSTEM: "1" };
    return execFileSync("git", args, { cwd: this.home.work, env, encoding: "utf8" });
  }

  /** Runs a command of `kite` as a person, or with more variables. */
  kite(args: readonly string[], more: Readonly<Record<string, string>> = {}, cwd?: string): Promise<Ran> {
    return this.home.command(args, { ...this.environment, ...more }, cwd);
  }

  /** What `kite agents --json` lists, without a process for each look. */
  async agents(): Promise<SpawnRow[]> {
    const client = await this.home.connect();
    const reply = await client.ask({ type: "query", target: "spawns", project: this.home.work, limit: 1000 });
    client.destroy();
    if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
    return reply["rows"] as SpawnRow[];
  }

  async agent(name: string): Promise<SpawnRow> {
    const found = (await this.agents()).find(row => row.name === name);
    if (found === undefined) throw new Error(`no agent ${name}`);
    return found;
  }

  /** Resolves with the first agent that fits, and looks again whenever something happens to one. */
  async seen(fits: (row: SpawnRow) => boolean): Promise<SpawnRow> {
    const client = await this.home.connect();
    await client.ask({ type: "subscribe", events: ["spawn_changed", "agent_stalled", "agent_recovered"] });
    for (;;) {
      const row = (await this.agents()).find(fits);
      if (row !== undefined) {
        client.destroy();
        return row;
      }
      await client.next();
    }
  }

  /** Resolves with the record once its state is `state`. */
  async reached(client: Client, name: string, state: string): Promise<SpawnRow> {
    for (;;) {
      const row = await this.agent(name);
      if (row.state === state) return row;
      await client.event("spawn_changed");
    }
  }

  /** Resolves once a client that `FAKE_HOLD` holds has been run; it goes on with `release`. */
  async held(): Promise<void> {
    await readFile(this.#pipe("held"));
  }

  async release(): Promise<void> {
    await writeFile(this.#pipe("go"), "go");
  }

  /** The environment of a client that starts when it is released. */
  holding(): Record<string, string> {
    mkdirSync(this.#folder, { recursive: true });
    for (const name of ["held", "go"]) execFileSync("mkfifo", [this.#pipe(name)]);
    return { FAKE_HOLD: this.#folder };
  }

  #pipe(name: string): string {
    return join(this.#folder, `${name}.pipe`);
  }

  /** A subscriber to the records' events. */
  async watcher(): Promise<Client> {
    const client = await this.home.connect();
    await client.ask({ type: "subscribe", events: ["spawn_changed"] });
    return client;
  }

  /** What the client was run with so far. */
  get calls(): readonly z.infer<typeof callLine>[] {
    const file = join(this.#folder, "calls.ndjson");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n");
    return lines.filter(line => line !== "").map(line => callLine.parse(JSON.parse(line)));
  }

  /** Has the client forget a session that has ended. */
  forget(handle: string): void {
    rmSync(join(this.#folder, `${handle}.json`));
  }

  /** The processes of sessions that the client left behind. */
  get sessions(): readonly number[] {
    if (!existsSync(this.#folder)) return [];
    const files = readdirSync(this.#folder).filter(name => name.endsWith(".json"));
    return files.map(
      name => sessionState.parse(JSON.parse(readFileSync(join(this.#folder, name), "utf8"))).pid,
    );
  }

  get #folder(): string {
    return join(dirname(this.home.work), "fake-client");
  }

  async dispose(): Promise<void> {
    for (const pid of this.sessions) killed(pid);
    await this.home.dispose();
  }
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Adds a task and returns its id. */
export async function kiteTask(world: SpawnWorld, description: string): Promise<string> {
  const { out } = await world.kite(["task", "add", description, "--json"]);
  return z.object({ task: z.object({ id: z.string() }) }).parse(JSON.parse(out)).task.id;
}
