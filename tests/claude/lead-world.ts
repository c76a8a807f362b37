import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { rowsOf } from "../../bin/context/with-daemon.ts";
import { KiteClient } from "../../client/client.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { installPrograms } from "./background.ts";
import type { InteractiveSession } from "./interactive.ts";
import type { Script, ScriptedModel } from "./model.ts";
import { environment } from "./session.ts";
import { Terminal } from "./terminal.ts";
import { type Programs, World } from "./world.ts";

const commandMs = 60_000;
const stepMs = 90_000;
const leadMs = 300_000;

/** Of health, only how long a stopped process is left before others are told of it. */
const settings = { health: { stalledMs: 1_000 } };
const permissions = {
  allow: ["Write", "Bash", "mcp__kite"],
  ask: ["Bash(node --eval *)"],
  defaultMode: "acceptEdits",
};

/** A person's home and repository, in which a lead of the real client starts agents. One model plays them all. */
export class LeadWorld {
  readonly world: World;
  readonly home: string;
  readonly #client: KiteClient;
  readonly #events: EventLine[] = [];
  #changed: () => void = () => {};
  #lead: InteractiveSession | null = null;

  /** `files` are committed, as is a check by this command, which a person trusts. */
  static async create(
    programs: Programs,
    { files, check }: { readonly files: Readonly<Record<string, string>>; readonly check: string },
  ): Promise<LeadWorld> {
    const world = await World.create(programs);
    const home = join(dirname(world.repository), "lead");
    installPrograms(home, programs);
    await world.tools("lead");
    mkdirSync(world.paths.home, { recursive: true, mode: 0o700 });
    writeFileSync(world.paths.config, JSON.stringify(settings));
    mkdirSync(world.path(".kite"));
    world.write(".kite/config.json", JSON.stringify({ checks: { words: { command: check } } }));
    for (const [name, text] of Object.entries(files)) world.write(name, text);
    await world.up();
    const own = new LeadWorld(world, home, await KiteClient.connect({ paths: world.paths }));
    await own.#client.subscribe();
    own.git("config", "user.name", "t");
    own.git("config", "user.email", "t@localhost");
    own.git("add", ".kite", ...Object.keys(files));
    own.git("commit", "-qm", "first");
    await world.kite("trust", "--yes", world.repository);
    return own;
  }

  private constructor(world: World, home: string, client: KiteClient) {
    this.world = world;
    this.home = home;
    this.#client = client;
    client.onEvent(event => {
      this.#events.push(event);
      this.#changed();
    });
  }

  /** Starts the lead. The agents that it starts have their scripts in `agents`, by name. */
  async start(
    script: Script,
    agents: Readonly<Record<string, Script>>,
    flags: readonly string[] = [],
  ): Promise<InteractiveSession> {
    this.#lead = await this.world.interactive("lead", script, {
      mates: agents,
      flags: ["-n", "lead", ...flags],
      env: this.#variables,
      settings: { permissions },
      limitMs: leadMs,
    });
    return this.#lead;
  }

  get model(): ScriptedModel {
    if (this.#lead === null) throw new Error("the lead has not started");
    return this.#lead.model;
  }

  get #variables(): Record<string, string> {
    const path = `${join(this.home, "bin")}:${process.env["PATH"]}`;
    return { PATH: path, KITE_HOME: this.world.paths.home, TMUX_TMPDIR: this.home };
  }

  /** A person's environment in the repository. */
  get #environment(): Record<string, string> {
    return { ...environment(this.home, this.model.url), ...this.#variables, TERM: "xterm" };
  }

  /** Runs `kite` as a person in the repository; throws unless it exits with 0. */
  async kite(...args: string[]): Promise<string> {
    const options = { cwd: this.world.repository, env: this.#environment, timeout: commandMs };
    return (await promisify(execFile)("kite", args, options)).stdout;
  }

  /** The same of a merge that comes back: what it prints, on one line. */
  async mergeReturns(...args: string[]): Promise<string> {
    const printed = await this.kite("merge", ...args).then(
      stdout => Promise.reject(new Error(`it did not come back: ${stdout}`)),
      (error: { readonly code?: unknown; readonly stdout?: string }) => {
        if (error.code !== 1) throw error;
        return error.stdout ?? "";
      },
    );
    return printed.replaceAll(/\s+/g, " ");
  }

  git(...args: string[]): string {
    const env = { PATH: process.env["PATH"], HOME: this.home, GIT_CONFIG_NOSYSTEM: "1" };
    return execFileSync("git", args, { cwd: this.world.repository, env, encoding: "utf8" });
  }

  /** Resolves with the agent's record as soon as that `fits`. */
  async agent(name: string, fits: (row: SpawnRow) => boolean): Promise<SpawnRow> {
    return this.#until(async () => {
      const rows = await rowsOf(this.#client, "spawns", {});
      return rows.find(row => row.name === name && fits(row));
    });
  }

  /** Resolves with the task as soon as that `fits`. */
  async task(number: string, fits: (row: TaskRow) => boolean): Promise<TaskRow> {
    return this.#until(async () => {
      const rows = await rowsOf(this.#client, "tasks", {});
      return rows.find(row => row.id.endsWith(`-${number}`) && fits(row));
    });
  }

  /** Resolves with the first event, past or to come, that `fits`. */
  async event(fits: (event: EventLine) => boolean): Promise<EventLine> {
    return this.#until(async () => this.#events.find(fits));
  }

  /** The process of the agent's session. */
  async process(name: string): Promise<number> {
    const { session } = await this.agent(name, row => row.session !== null);
    const [row] = await rowsOf(this.#client, "sessions", { id: session ?? "" });
    if (row?.pid === undefined || row.pid === null) throw new Error(`${name} has no process`);
    return row.pid;
  }

  /** The trail's lines, the earliest first. */
  async trail(): Promise<TrailLine[]> {
    const lines = (await this.kite("log", "--json", "-n", "1000")).split("\n");
    return lines.filter(line => line !== "").map(line => JSON.parse(line));
  }

  /** Opens the agent in a terminal, as a person does. */
  attach(name: string): Terminal {
    return new Terminal(`kite agents attach ${name}`, this.world.repository, this.#environment);
  }

  /** A part of the test with a name and a time limit; if it fails, its name and what Kite shows are in the error. */
  async step(name: string, work: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    const late = delay(stepMs, null, { signal: over.signal }).then(
      () => Promise.reject(new Error(`not done after ${stepMs / 1000} s`)),
      () => undefined,
    );
    const done = work();
    try {
      await Promise.race([done, late.then(() => done)]);
    } catch (error) {
      const shown = await Promise.all([this.kite("status"), this.kite("agents")]).catch(String);
      throw new Error(`${name}: ${String(error)}\n${String(shown)}`, { cause: error });
    } finally {
      over.abort();
    }
  }

  async dispose(): Promise<void> {
    this.#client.close();
    await this.world.dispose();
  }

  /** Looks again at each event. */
  async #until<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const changed = new Promise<void>(resolve => {
        const before = this.#changed;
        this.#changed = () => {
          before();
          resolve();
        };
      });
      const found = await look();
      if (found !== undefined) return found;
      await changed;
    }
  }
}
