/** A machine on which a person mistypes: projects, sessions, tasks, a lock and a freeze, a home without a daemon, none at all. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, Home, type Message } from "./daemon.ts";
import type { Ran } from "./kite.ts";
import { Mcp } from "./mcp-client.ts";

/**
 * Where a person types. `shop`: the project with all that; `plain`: a directory outside of any repository; `agent`: in
 * the shell of the session api; `ghost`: KITE_SESSION names nobody; `stopped`: no daemon runs; `broken`: the home is below
 * a file; `tool`: an agent calls one of Kite's tools.
 */
export type Place = "shop" | "plain" | "agent" | "ghost" | "stopped" | "broken" | "tool";

export const [api, web] = ["7c1e-api", "7c1e-web"] as const;
const person = { USER: "ana", TZ: "UTC", COLUMNS: "120" };

export class MistakesWorld {
  readonly home = new Home({ work: "shop", kite: "kite" });
  readonly #stopped = new Home({ work: "shop" });
  #mcp: Mcp | null = null;
  #clients: Readonly<Record<typeof api | typeof web, Client>> | null = null;

  static async start(): Promise<MistakesWorld> {
    const world = new MistakesWorld();
    await world.#start();
    return world;
  }

  async #start(): Promise<void> {
    const { home } = this;
    const { root, work: shop } = home;
    for (const name of ["src", "docs"]) mkdirSync(join(shop, name));
    for (const name of ["notes.md", "src/orders.ts", "src/auth.ts"]) writeFileSync(join(shop, name), "x\n");
    writeFileSync(join(shop, "bad.json"), "{");
    for (const name of ["plain", "programs"]) mkdirSync(join(root, name));
    writeFileSync(join(root, "file"), "");
    // A client that is installed, and that no mistake gets so far as to run.
    writeFileSync(join(root, "programs", "claude"), "#!/bin/sh\nexit 1\n");
    chmodSync(join(root, "programs", "claude"), 0o755);
    for (const line of ["init -q -b main", "add .", "commit -qm one"])
      execFileSync("git", ["-c", "user.name=ana", "-c", "user.email=ana@host", ...line.split(" ")], {
        cwd: shop,
        env: home.environment,
      });
    await home.start();
    const begin = (id: string, name: string) => home.session(id, { name, project: shop });
    this.#clients = { [api]: await begin(api, "api"), [web]: await begin(web, "web") };
    for (const line of [
      ["add", "Write the tests"],
      ["add", "Move the page"],
      ["add", "Ship it", "--needs", "2"],
      ["add", "Name the parts"],
      ["add", "Drop the old tables", "--risk", "red"],
    ])
      await this.#kite("task", ...line);
    await this.#kite("context", "set", "port", "3000");
    await this.restore();
  }

  /** Makes the state anew that the mistakes are about: what a mistake's advice did is undone. */
  async restore(): Promise<void> {
    const { home } = this;
    rmSync(join(home.paths.home, "off"), { force: true });
    if (existsSync(this.#stopped.paths.socket)) await this.#stopped.kite("down");
    const tasks = await this.#ask(api, { type: "query", target: "tasks", project: home.work });
    const statusOf = new Map(rowsOf(tasks).map(row => [row["number"], row["status"]]));
    if (statusOf.get(1) !== "done") await this.#kite("task", "done", "1");
    for (const number of [3, 4, 5]) {
      const status = statusOf.get(number);
      if (status !== "pending")
        await this.#kite("task", status === "active" ? "release" : "retry", `${number}`);
    }
    if (statusOf.get(2) === "pending") await this.#ask(api, { type: "task_claim", id: api, task: "#2" });
    await this.#ask(api, { type: "file_lock", id: api, file: "src/orders.ts" });
    const sessions = rowsOf(await this.#ask(api, { type: "query", target: "sessions", project: home.work }));
    for (const { id, name, role } of sessions) {
      const first = id === api ? "api" : id === web ? "web" : null;
      if (first !== null && name !== first) await this.#kite("rename", `${id}`, first);
      if (first !== null && role !== undefined) await this.#kite("role", `${id}`, "--clear");
    }
    rmSync(home.paths.config, { force: true });
    const freezes = rowsOf(await this.#ask(web, { type: "query", target: "holds", project: home.work }));
    const hold = { files: ["src/auth.ts"], ttlMs: 600_000 };
    if (freezes.length === 0)
      await this.#ask(web, { type: "broadcast", id: web, message: "moving it", hold });
  }

  async #kite(...words: string[]): Promise<void> {
    await this.home.kiteIn({ ...this.home.environment, ...person }, ...words);
  }

  async #ask(id: typeof api | typeof web, request: Message): Promise<Message> {
    if (this.#clients === null) throw new Error("the world has not started");
    const reply = await this.#clients[id].ask(request);
    if (reply["ok"] !== true) throw new Error(`${JSON.stringify(request)}: ${JSON.stringify(reply)}`);
    return reply;
  }

  /** Runs what is typed in a place: the words behind `kite`, or a tool's name with its parameters. */
  async run(place: Place, typed: string, more: readonly string[] = []): Promise<Ran> {
    if (place === "tool") return this.#call(typed);
    const { home } = this;
    const words = [...wordsIn(typed), ...more];
    const PATH = `${join(home.root, "programs")}:${home.environment["PATH"]}`;
    if (place === "stopped") return this.#stopped.command(words, { ...person, PATH });
    const own: Partial<Record<Place, Record<string, string>>> = {
      agent: { KITE_SESSION: api },
      broken: { KITE_HOME: join(home.root, "file", "kite") },
      ghost: { KITE_SESSION: "warm-haw" },
    };
    const cwd = place === "plain" ? join(home.root, "plain") : home.work;
    return home.command(words, { ...person, PATH, ...own[place] }, cwd);
  }

  async #call(typed: string): Promise<Ran> {
    this.#mcp ??= await Mcp.start(this.home, { data: false });
    const [, name = "", given = "{}"] = /^(\w+) (.*)$/.exec(typed) ?? [];
    const { text, isError } = await this.#mcp.call(name, JSON.parse(given));
    return { code: isError ? 1 : 0, out: text, err: "" };
  }

  /** Names the world's folder in a text as the table of mistakes does. */
  named(text: string): string {
    return text.replaceAll(this.home.root, "~").replaceAll(this.#stopped.root, "~");
  }

  async dispose(): Promise<void> {
    await this.#mcp?.close();
    await this.home.dispose();
    await this.#stopped.dispose();
  }
}

/** Splits a line at its spaces, as a shell does; single quotes keep a word together. */
function wordsIn(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
}

function rowsOf(reply: Message): readonly Message[] {
  const rows = reply["rows"];
  if (!Array.isArray(rows)) throw new Error(`no rows: ${JSON.stringify(reply)}`);
  return rows;
}
