import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { World } from "../claude/world.ts";
import { type Script, ScriptedModel } from "./model.ts";

const sessionMs = 170_000;
const program = process.env["KITE_TEST_OPENCODE"] ?? "";
const plugin = fileURLToPath(new URL("../../dist/opencode-plugin.mjs", import.meta.url));

interface SessionOptions {
  /** The scripts of its subagents. */
  readonly mates?: Readonly<Record<string, Script>>;
  /** Kite's tools: the server that the client starts. */
  readonly tools?: readonly string[];
}

/** One run of the real client in print mode, with a model, a home and nothing of the surroundings. */
export class OpenCodeSession {
  readonly model: ScriptedModel;
  /** Its id, as the client says it. */
  readonly id: Promise<string>;
  /** Resolves with its exit code; throws, with what it said, where it had to be ended. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #said = "";

  /** `name` is the folder with its home. */
  static async start(
    world: World,
    name: string,
    script: Script,
    options: SessionOptions = {},
  ): Promise<OpenCodeSession> {
    const model = await ScriptedModel.start(script, options.mates);
    const session = new OpenCodeSession(world, world.folder(name), model, options);
    world.add(session);
    return session;
  }

  private constructor(world: World, home: string, model: ScriptedModel, { tools }: SessionOptions) {
    this.model = model;
    const config = join(home, ".config", "opencode");
    mkdirSync(join(config, "plugins"), { recursive: true });
    copyFileSync(plugin, join(config, "plugins", "kite.js"));
    writeFileSync(join(config, "opencode.json"), JSON.stringify(configOf(model.url, tools)));
    this.#child = spawn(program, ["run", "--format", "json", "Do what the script says."], {
      cwd: world.repository,
      env: { ...environment(home, model.url), KITE_HOME: world.paths.home },
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, so that what it started can be ended with it.
      detached: true,
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("spawn gave no pipes");
    stderr.setEncoding("utf8").on("data", (chunk: string) => this.#note(chunk));
    this.id = new Promise(resolve => {
      createInterface({ input: stdout }).on("line", line => {
        this.#note(`${line}\n`);
        const [, id] = /"sessionID":"(ses_\w+)"/.exec(line) ?? [];
        if (id !== undefined) resolve(id);
      });
    });
    this.ended = this.#end();
    this.ended.then(
      code => model.over(new Error(`the session has ended with code ${code}; it said last:\n${this.#said}`)),
      (error: Error) => model.over(error),
    );
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

function configOf(url: string, tools: readonly string[] | undefined): object {
  const models = { scripted: { name: "scripted", limit: { context: 100_000, output: 10_000 } } };
  const options = { baseURL: `${url}/v1`, apiKey: "dummy-key-of-a-test" };
  return {
    model: "local/scripted",
    small_model: "local/scripted",
    provider: { local: { npm: "@ai-sdk/openai-compatible", name: "local", options, models } },
    permission: { "*": "allow" },
    ...(tools === undefined ? {} : { mcp: { kite: { type: "local", command: tools, enabled: true } } }),
  };
}

/** Nothing but where programs are and what the terminal is; whatever does not go to the model is refused there. */
function environment(home: string, modelUrl: string): Record<string, string> {
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap(name => [name, name.toLowerCase()]);
  const quiet = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"].map(
    name => `OPENCODE_DISABLE_${name}`,
  );
  return {
    PATH: process.env["PATH"] ?? "",
    TERM: "dumb",
    HOME: home,
    TMPDIR: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local", "share"),
    XDG_CACHE_HOME: join(home, ".cache"),
    XDG_STATE_HOME: join(home, ".local", "state"),
    // The client fetches types for plugins at its start, and waits until that has failed.
    npm_config_fetch_retries: "0",
    ...Object.fromEntries(quiet.map(name => [name, "1"])),
    ...Object.fromEntries(proxies.map(name => [name, modelUrl])),
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
  };
}
