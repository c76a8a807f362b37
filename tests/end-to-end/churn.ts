/**
 * Clients that come and go, in every way they can, and what the daemon has left of them: connections, subscribers,
 * sessions, locks, hooks, half lines. One run is as many rounds as its caller wants.
 */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const mib = 1024 * 1024;

/** What a round leaves behind at most: the memory of a process goes up and down by itself. */
export const bounds = { rssFactor: 1.25, rssBytes: 24 * mib, descriptors: 8 } as const;

/** The daemon after a round, when it has seen everybody go. */
export interface Sample {
  readonly rssBytes: number;
  readonly descriptors: number;
}

export class Churn {
  readonly #home: Home;
  readonly #observer: Client;
  #rounds = 0;
  #connections = 0;

  static async start(): Promise<Churn> {
    const home = new Home();
    await home.start();
    const observer = await home.connect();
    // With its process it lives as long as the churn.
    const holder = { id: "holder", pid: process.pid, cwd: home.work, project: "churn" };
    expectOk(await observer.ask({ type: "register", ...holder }));
    await observer.ask({ type: "file_lock", id: "holder", file: "held/" });
    return new Churn(home, observer);
  }

  private constructor(home: Home, observer: Client) {
    this.#home = home;
    this.#observer = observer;
  }

  get rounds(): number {
    return this.#rounds;
  }

  /** Connections so far. */
  get connections(): number {
    return this.#connections;
  }

  /**
   * Everybody comes and goes once. Resolves when the daemon has seen them all go; throws where it keeps a connection's
   * locks, waits or subscriptions.
   */
  async round(): Promise<Sample> {
    this.#rounds += 1;
    const n = this.#rounds;
    await Promise.all([
      this.#polite(n),
      this.#broken(),
      this.#subscribers(n),
      this.#lockers(n),
      this.#hooks(n),
      this.#deaf(),
    ]);
    await this.#settled();
    return { rssBytes: this.#rss(), descriptors: this.#descriptors() };
  }

  /** As much as may be unfinished at a time can be: throws where something of before counts still. */
  async fillsUp(): Promise<void> {
    const begin = Buffer.from('{"type":"hook","event":{"pad":"');
    const part = Buffer.concat([begin, Buffer.alloc(31 * mib - begin.length, "x")]);
    const clients: Client[] = [];
    for (let bytes = part.length; bytes < limits.unfinishedBytes; bytes += part.length) {
      const client = await this.#connect();
      clients.push(client);
      await client.sent(part);
    }
    for (const client of clients) expectOk(await client.ask('"}}\n'));
    for (const client of clients) client.destroy();
  }

  dispose(): Promise<void> {
    return this.#home.dispose();
  }

  async #connect(): Promise<Client> {
    this.#connections += 1;
    return this.#home.connect();
  }

  /** Sessions that come and go in order, and some that only come: the same few each time. */
  async #polite(n: number): Promise<void> {
    const { work } = this.#home;
    const client = await this.#connect();
    const id = `session-${n}`;
    expectOk(await client.ask({ type: "register", id, cwd: work, project: "churn" }));
    expectOk(await client.ask({ type: "file_lock", id, files: ["a", "b"] }));
    expectOk(await client.ask({ type: "query", target: "locks" }));
    expectOk(await client.ask({ type: "deregister", id }));
    client.half();
    await client.closed;
    const early = await this.#connect();
    early.send({ type: "register", id: `early-${n % 10}`, cwd: work, project: "churn" });
    early.destroy();
  }

  /** Half lines, and lines that are too long and cut off midway; some with an answer unread, some half closed. */
  async #broken(): Promise<void> {
    const parts = [
      '{"type":"ping"',
      `{"type":"hook","event":{"pad":"${"x".repeat(mib)}`,
      `{"type":"ping","pad":"${"x".repeat(limits.lineBytes)}`,
    ];
    for (const part of parts) {
      const gone = await this.#connect();
      await gone.sent(part);
      gone.destroy();
      const half = await this.#connect();
      await half.sent(part);
      half.half();
      await half.closed;
      const reset = await this.#connect();
      reset.stopReading();
      await reset.sent({ type: "ping", rid: "x".repeat(200_000) });
      await reset.sent(part);
      reset.destroy();
    }
  }

  /** Who listens for a while, who leaves at once, and who leaves while the answer is made. */
  async #subscribers(n: number): Promise<void> {
    const listening = await this.#connect();
    const { cursor } = await listening.ask({ type: "subscribe" });
    listening.destroy();
    const again = await this.#connect();
    expectOk(await again.ask({ type: "subscribe", cursor }));
    again.half();
    await again.closed;
    for (let i = 0; i < 5; i += 1) {
      const early = await this.#connect();
      const value = { type: "context_set", project: "churn", key: "k", value: n, durable: true };
      const subscribe = { type: "subscribe", file: `${this.#home.work}/new-${n}-${i}/a` };
      await early.sent(`{"type":"ping"}\n${JSON.stringify(value)}\n${JSON.stringify(subscribe)}\n`);
      early.destroy();
    }
  }

  /** Locks that are bound, and waits, of clients that end. */
  async #lockers(n: number): Promise<void> {
    for (let i = 0; i < 5; i += 1) {
      const id = `early-${i}`;
      const bound = await this.#connect();
      bound.send({ type: "file_lock", id, file: `${this.#home.work}/bound-${i}/${n}`, bind: true });
      bound.destroy();
      const waiting = await this.#connect();
      const file = `${this.#home.work}/held/${n}-${i}`;
      waiting.send({ type: "file_lock", id: "early-9", file, waitMs: limits.waitMaxMs, progress: true });
      // It waits in the queue, or is told that the queue is full of those who left before.
      if (i % 2 === 0) await waiting.next();
      waiting.destroy();
    }
  }

  /** A session of hooks: an edit, one that waits and whose hook is killed, and the end. */
  async #hooks(n: number): Promise<void> {
    const { work } = this.#home;
    const base = { session_id: `hooked-${n}`, cwd: work, prompt_id: "p" };
    const edit = (file: string): Message => ({
      ...base,
      hook_event_name: "PreToolUse",
      tool_name: "Edit",
      tool_use_id: `tool-${n}-${file}`,
      tool_input: { file_path: `${work}/${file}`, old_string: "a", new_string: "b" },
    });
    const ask = async (event: Message) => {
      const client = await this.#connect();
      const reply = await client.ask({ type: "hook", reply: "raw", event });
      if (!String(reply["raw"]).startsWith("0 ")) throw new Error(`a hook heard ${JSON.stringify(reply)}`);
      await client.ended;
      client.destroy();
    };
    await ask({ ...base, hook_event_name: "SessionStart", source: "startup" });
    await ask(edit("hooked"));
    const killed = await this.#connect();
    const told = Promise.race([killed.blank(), killed.next()]);
    killed.send({ type: "hook", event: edit("held/x") });
    await told;
    killed.destroy();
    await ask({ ...base, hook_event_name: "SessionEnd", reason: "other" });
  }

  /** Who asks for much and reads nothing of it. */
  async #deaf(): Promise<void> {
    const deaf = await this.#connect();
    deaf.stopReading();
    deaf.send('{"type":"query","target":"sessions","limit":1000}\n'.repeat(300));
    expectOk(await this.#observer.ask({ type: "ping" }));
    deaf.destroy();
  }

  async #settled(): Promise<void> {
    // Nothing tells when the daemon has seen the last one go, and has done what it had asked for: it is asked.
    for (let tries = 1; ; tries += 1) {
      const { connections, subscribers, locks, waiters, sessions } = await this.#observer.ask({
        type: "stats",
      });
      const left = { connections, subscribers, locks, waiters };
      const isClear = connections === 1 && subscribers === 0 && locks === 1 && waiters === 0;
      if (isClear && Number(sessions) <= 11) return;
      if (tries === 20_000)
        throw new Error(`round ${this.#rounds} left ${JSON.stringify({ ...left, sessions })}`);
    }
  }

  #rss(): number {
    const found = this.#home.daemon.memory()?.now;
    return found ?? Number(run("ps", "-o", "rss=", "-p", `${this.#home.daemon.pid}`)) * 1024;
  }

  #descriptors(): number {
    const { pid } = this.#home.daemon;
    if (process.platform === "linux") return readdirSync(`/proc/${pid}/fd`).length;
    return run("lsof", "-p", `${pid}`).trim().split("\n").length;
  }
}

function expectOk(reply: Message): void {
  if (reply["ok"] !== true) throw new Error(`refused: ${JSON.stringify(reply)}`);
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8" });
}

/** What came of it: the middle of the first samples, of the last ones and of all; and what has grown beyond its bound. */
export interface Verdict {
  readonly lines: readonly string[];
  readonly grown: readonly string[];
}

/** Compares the first tenth of the samples with the last one. What was before the first one belongs to warming up. */
export function judge(samples: readonly Sample[]): Verdict {
  const count = Math.max(1, Math.floor(samples.length / 10));
  const lines: string[] = [];
  const grown: string[] = [];
  const look = (what: string, values: readonly number[], most: (first: number) => number, unit: number) => {
    const first = median(values.slice(0, count));
    const last = median(values.slice(-count));
    const shown = (value: number) => (value / unit).toFixed(unit === 1 ? 0 : 1);
    const line = `${what}: first ${shown(first)}, last ${shown(last)}, median ${shown(median(values))}, at most ${shown(most(first))}`;
    lines.push(line);
    if (last > most(first)) grown.push(line);
  };
  const { rssFactor, rssBytes, descriptors } = bounds;
  const rss = samples.map(sample => sample.rssBytes);
  look("memory (MiB)", rss, first => first * rssFactor + rssBytes, mib);
  const open = samples.map(sample => sample.descriptors);
  look("descriptors", open, first => first + descriptors, 1);
  return { lines, grown };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
