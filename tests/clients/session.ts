import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { World } from "../claude/world.ts";
import { type Call, type Script, ScriptedModel, type Wire } from "./model.ts";

/** A real client, and how a test drives it. */
export interface RealClient {
  readonly name: string;
  readonly wire: Wire;
  /** What the client puts before a hook's reason, as the model reads it. */
  readonly deniedBy: string;
  /** Where a line that the client prints has the id of its session, if it does. */
  readonly idIn?: RegExp;
  edit(id: string, file: string, from: string, to: string): Call;
  line(id: string, command: string): Call;
  /** Writes what the client needs into its home, and returns how it is started for one prompt. */
  prepare(home: string, modelUrl: string, options: SessionOptions): Start;
}

/** Each client takes those that it has a row for in its `prepare`. */
export interface SessionOptions {
  /** How long the client waits for a hook before a tool. */
  readonly hookMs?: number;
  /** A home in which `kite install` wrote the hooks: it runs those that the person trusts. */
  readonly home?: string;
  /** The server of Kite's tools that the client starts. */
  readonly tools?: readonly string[];
  /** The scripts of its subagents, by the names in their prompts. */
  readonly agents?: Readonly<Record<string, Script>>;
}

export interface Start {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const sessionMs = 150_000;

/** One session of the real client in print mode, with a model, a home and nothing of the surroundings. */
export class ClientSession {
  readonly model: ScriptedModel;
  /** Its id, as the client says it; throws where the session ends before that. */
  readonly id: Promise<string>;
  /** Resolves with its exit code; throws, with what it said, where it had to be ended. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #said = "";

  /** `name` is the folder with its home. */
  static async start(
    client: RealClient,
    world: World,
    name: string,
    script: Script,
    options: SessionOptions = {},
  ): Promise<ClientSession> {
    const model = await ScriptedModel.start(client.wire, script, options.agents);
    const home = options.home ?? world.folder(name);
    const session = new ClientSession(world, home, client, client.prepare(home, model.url, options), model);
    world.add(session);
    return session;
  }

  private constructor(
    world: World,
    home: string,
    { idIn }: RealClient,
    { program, args, env }: Start,
    model: ScriptedModel,
  ) {
    this.model = model;
    this.#child = spawn(program, args, {
      cwd: world.repository,
      env: { ...environment(home, model.url), ...env, KITE_HOME: world.paths.home },
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, so that what it started can be ended with it.
      detached: true,
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("spawn gave no pipes");
    stderr.setEncoding("utf8").on("data", (chunk: string) => this.#note(chunk));
    this.ended = this.#end();
    this.id = new Promise((resolve, reject) => {
      createInterface({ input: stdout }).on("line", line => {
        this.#note(`${line}\n`);
        const [, id] = idIn?.exec(line) ?? [];
        if (id !== undefined) resolve(id);
      });
      const over = (error: Error) => {
        model.over(error);
        reject(error);
      };
      this.ended.then(
        code => over(new Error(`the session has ended with code ${code}; it said last:\n${this.#said}`)),
        over,
      );
    });
    // Most tests do not ask for it.
    this.id.catch(() => {});
  }

  /** Ends the process and what it started, and the model. Harmless when it is over. */
  async dispose(): Promise<void> {
    this.#killAll();
    await Promise.allSettled([this.ended]);
    await this.model.close();
  }

  async #end(): Promise<number> {
    const closed = once(this.#child, "close");
    const timer = setTimeout(() => this.#killAll(), sessionMs);
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
function environment(home: string, modelUrl: string): Record<string, string> {
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap(name => [name, name.toLowerCase()]);
  return {
    PATH: process.env["PATH"] ?? "",
    TERM: "dumb",
    HOME: home,
    TMPDIR: home,
    ...Object.fromEntries(proxies.map(name => [name, modelUrl])),
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
}
