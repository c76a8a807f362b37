import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { codexEntries } from "../../hooks/codex/settings/entries.ts";
import type { World } from "../claude/world.ts";
import { type Script, ScriptedModel } from "./model.ts";

const sessionMs = 150_000;
const program = process.env["KITE_TEST_CODEX"] ?? "";

/** One session of the real client in print mode, with a model, a home and nothing of the surroundings. */
export class CodexSession {
  readonly model: ScriptedModel;
  /** Its id, as the client says it. */
  readonly id: Promise<string>;
  /** Resolves with its exit code; throws, with what it said, where it had to be ended. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #said = "";

  /** `name` is the folder with its home; `hookMs`: how long the client waits for each hook before a tool. */
  static async start(world: World, name: string, script: Script, hookMs?: number): Promise<CodexSession> {
    const session = new CodexSession(world, world.folder(name), await ScriptedModel.start(script), hookMs);
    world.add(session);
    return session;
  }

  /** A session in a home in which `kite install` wrote the hooks: it runs those that the person trusts. */
  static async installed(world: World, home: string, script: Script): Promise<CodexSession> {
    const session = new CodexSession(world, home, await ScriptedModel.start(script), null);
    world.add(session);
    return session;
  }

  /** `hookMs` is null where the hooks are there already. */
  private constructor(world: World, home: string, model: ScriptedModel, hookMs: number | null | undefined) {
    this.model = model;
    const own = join(home, ".codex");
    mkdirSync(own, { recursive: true });
    const config = join(own, "config.toml");
    const there = existsSync(config) ? readFileSync(config, "utf8") : "";
    // A session before it in this home had another model.
    const hasModel = there.includes("[model_providers.scripted]");
    const old = hasModel ? there.replace(/^base_url = .*$/m, `base_url = "${model.url}/v1"`) : null;
    writeFileSync(config, old ?? configText(model.url) + there);
    if (hookMs !== null) writeFileSync(join(own, "hooks.json"), JSON.stringify({ hooks: hooksOf(hookMs) }));
    const free = [
      "--dangerously-bypass-approvals-and-sandbox",
      ...(hookMs === null ? [] : ["--dangerously-bypass-hook-trust"]),
    ];
    const args = ["exec", "--json", "--skip-git-repo-check", ...free, "Do what the script says."];
    this.#child = spawn(program, args, {
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
        const [, id] = /"thread_id":"([\w-]+)"/.exec(line) ?? [];
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

function configText(url: string): string {
  return [
    'model = "gpt-5.5"',
    'model_provider = "scripted"',
    "[model_providers.scripted]",
    'name = "scripted"',
    `base_url = "${url}/v1"`,
    'env_key = "SCRIPTED_KEY"',
    'wire_api = "responses"',
    "",
  ].join("\n");
}

/** The entries as `kite install` writes them. */
function hooksOf(hookMs?: number): object {
  return Object.fromEntries(
    codexEntries(null).map(([event, group]) => {
      const isLimited = event === "PreToolUse" && hookMs !== undefined;
      const hooks = group.hooks.map(hook => (isLimited ? { ...hook, timeout: hookMs / 1000 } : hook));
      return [event, [{ ...group, hooks }]];
    }),
  );
}

/** Nothing but where programs are and what the terminal is; whatever does not go to the model is refused there. */
function environment(home: string, modelUrl: string): Record<string, string> {
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap(name => [name, name.toLowerCase()]);
  return {
    PATH: process.env["PATH"] ?? "",
    TERM: "dumb",
    HOME: home,
    CODEX_HOME: join(home, ".codex"),
    TMPDIR: home,
    SCRIPTED_KEY: "dummy-key-of-a-test",
    ...Object.fromEntries(proxies.map(name => [name, modelUrl])),
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
}
